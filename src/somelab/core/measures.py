"""Measures of self-organization: balance, diversity and crowding of one layer. Pure functions on small
tensors.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


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
    member_E = torch.arange(num_experts, device=indices_TK.device)
    hashed_E = (member_E + 1) * -7046029254386353131
    hashed_E = (hashed_E ^ (hashed_E >> 29)) * -4658895280553007687
    codes, counts = (hashed_E ^ (hashed_E >> 32))[indices_TK].sum(dim=1).unique(return_counts=True)
    return codes, counts


def combination_entropy_bits(counts: Tensor) -> float:
    """Entropy in bits over the distinct K-sets in use. E experts fused into guilds of K show at most
    log2(E/K)."""
    return entropy_bits(counts)


def crowding(keys_ED: Tensor, top_k: int) -> float:
    """Mean cosine of each key to its K-1 nearest. Near 1: keys have fused, and E experts act as E/K."""
    neighbours = min(top_k - 1, keys_ED.shape[0] - 1)
    if neighbours < 1:
        return 0.0
    unit_ED = F.normalize(keys_ED.float(), dim=1)
    total = 0.0
    for block in unit_ED.split(1024):  # never allocate E x E for large pools
        nearest_first = (block @ unit_ED.T).topk(neighbours + 1, dim=1).values
        total += float(nearest_first[:, 1:].mean(dim=1).sum())
    return total / keys_ED.shape[0]
