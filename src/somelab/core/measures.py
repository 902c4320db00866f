"""Measures of self-organization: balance, diversity and crowding of one layer. Pure functions on small
tensors.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

ALL_CROWDING_UP_TO = 16384
CROWDING_SAMPLE = 1024
GOLDEN = (math.sqrt(5) - 1) / 2


def gini(use_E: Tensor) -> float:
    """Inequality of usage: sum((2i - E - 1) c_(i)) / (E sum c) on ascending c. 0: all equal; near 1: one
    expert has all usage."""
    total = float(use_E.sum())
    if not total:
        return 0.0
    ascending_E = use_E.double().sort().values
    num_experts = use_E.shape[0]
    rank_E = torch.arange(1, num_experts + 1, dtype=torch.float64, device=use_E.device)
    return float(((2 * rank_E - num_experts - 1) * ascending_E).sum() / (num_experts * total))


def entropy_bits(use_E: Tensor) -> float:
    """Shannon entropy of the usage shares in bits; at most log2 E."""
    share_E = use_E.double() / use_E.double().sum().clamp(min=1e-300)
    return float(-torch.xlogy(share_E, share_E).sum() / math.log(2))


def effective_experts(use_E: Tensor) -> float:
    """exp(H): how many equally used experts would have this entropy."""
    return 2.0 ** entropy_bits(use_E)


def coverage(use_E: Tensor) -> int:
    """Number of experts with non-zero usage."""
    return int((use_E > 0).sum())


def dead_share(use_E: Tensor) -> float:
    """Share of the experts with zero usage."""
    return 1 - coverage(use_E) / use_E.shape[0]


def gate_entropy(gates_TK: Tensor) -> Tensor:
    """Entropy of each token's gates in nats, at most ln K. Sigmoid gates are first normalised."""
    share_TK = gates_TK / gates_TK.sum(dim=1, keepdim=True)
    return -torch.xlogy(share_TK, share_TK).sum(dim=1)


def combinations(indices_TK: Tensor, num_experts: int) -> tuple[Tensor, Tensor]:
    """The distinct K-sets that tokens used, in a code that can be merged over batches, and how often each.

    A set is coded by the sum of its members' hashes, which is the same for any order of the K."""
    hashed_TK = (indices_TK.long() + 1) * -7046029254386353131
    hashed_TK = (hashed_TK ^ (hashed_TK >> 29)) * -4658895280553007687
    codes, counts = (hashed_TK ^ (hashed_TK >> 32)).sum(dim=1).unique(return_counts=True)
    return codes, counts


def combination_entropy_bits(counts: Tensor) -> float:
    """Entropy in bits over the distinct K-sets in use. E experts fused into guilds of K show at most
    log2(E/K)."""
    return entropy_bits(counts)


def spread(number: int, most: int) -> Tensor:
    """All of 0 to number - 1, or `most` of them, ascending: evenly spread, but in no regular steps, which
    might fall on few columns of a product.

    Multiples of the golden ratio, of which any few are well apart; `number` is at least four times `most`."""
    if number <= most:
        return torch.arange(number)
    return ((torch.arange(most, dtype=torch.float64) * GOLDEN).frac() * number).long().sort().values


def crowding(keys_ED: Tensor, top_k: int) -> float:
    """Mean cosine of each key to its K-1 nearest. Near 1: keys have fused, and E experts act as E/K.

    Of more than 16,384 keys, a sample of 1,024 is compared with all others."""
    neighbours = min(top_k - 1, keys_ED.shape[0] - 1)
    if neighbours < 1:
        return 0.0
    unit_ED = F.normalize(keys_ED.float(), dim=1)
    sample_ED = unit_ED
    if len(unit_ED) > ALL_CROWDING_UP_TO:
        sample_ED = unit_ED[spread(len(unit_ED), CROWDING_SAMPLE).to(unit_ED.device)]
    size = 1024 if len(unit_ED) <= ALL_CROWDING_UP_TO else 64  # never allocate E x E for large pools
    total = 0.0
    for block in sample_ED.split(size):
        nearest_first = (block @ unit_ED.T).topk(neighbours + 1, dim=1).values
        total += float(nearest_first[:, 1:].mean(dim=1).sum())
    return total / len(sample_ED)
