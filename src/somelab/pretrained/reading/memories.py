"""Memories that are mixed into the prediction of a frozen model: caches of recent words and of pairs of
words, and a memory of hidden states that is addressed by keys.

    p'(w) = (1 - l) p(w) + l m(w)
    cache:   m(w) = share of w among the words read so far
    bigram:  m(w) = (n(v, w) + b c(w)) / (n(v) + b), v the word before, n counts, c the cache
    memory:  m(w) = sum of softmax(c cos(h, h_i)) over stored states h_i that were followed by w

A token is compared only with the states in the buckets of the keys nearest to it: memory selected by
routing. A state is stored with its nearest key, and the key is attracted to it. Closed form, no gradient.
Shape letters: B rows, S tokens per row, C tokens of a chunk, M stored states, E keys, K keys per token, D
model width."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields

import torch
from torch import Tensor
from torch.nn import functional as F

from somelab.core.seeding import generator
from somelab.pretrained.reading.passes import FrozenPass

CHUNK = 128  # tokens between two updates
ALPHA = 0.1  # of attraction
UNIFORM = 0.05  # share of a uniform distribution in the cache


@dataclass(frozen=True)
class Weights:
    """How a memory is mixed in; tuned on other text."""

    share: float
    """l, the weight of the memory."""
    sharpness: float = 0.0
    """c: how much more a closer state counts. 0: the plain cache."""
    threshold: float = -1.0
    """The memory counts only for tokens with a stored state at least this close."""
    backoff: float | None = None
    """b: pseudo-counts of the cache among the words that followed a word. None: no bigrams."""

    def chosen(self) -> dict[str, float]:
        """What a search has chosen: all that differs from the default."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}


class Buckets:
    """Keys of a memory: unit vectors that attract and are attracted by hidden states."""

    def __init__(self, states_ND: Tensor, num_keys: int, seed: int) -> None:
        """`states_ND`: states of other text; the keys start at random ones of them."""
        self.mean_D = states_ND.mean(dim=0)
        self.usage_E = torch.zeros(num_keys)
        chosen = torch.randperm(len(states_ND), generator=generator(seed, "memory keys"))[:num_keys]
        self.keys_ED = self.queries(states_ND[chosen])

    def queries(self, states_CD: Tensor) -> Tensor:
        return F.normalize(states_CD - self.mean_D, dim=-1)

    def nearest(self, queries_CD: Tensor, num: int) -> Tensor:
        return (queries_CD @ self.keys_ED.T).topk(min(num, len(self.keys_ED)), dim=1).indices

    def attract_(self, queries_CD: Tensor, winner_C: Tensor) -> None:
        """k_i += a_i (mean query - k_i), a_i = min(1, alpha n_i / (1 + u_i)): the rule attraction."""
        count_E = torch.bincount(winner_C, minlength=len(self.keys_ED)).float()
        sums_ED = torch.zeros_like(self.keys_ED).index_add_(0, winner_C, queries_CD)
        self.usage_E = self.usage_E + count_E
        rate_E = (ALPHA * count_E / (1 + self.usage_E)).clamp(max=1.0)
        mean_ED = sums_ED / count_E.clamp(min=1)[:, None]
        moved_ED = self.keys_ED + rate_E[:, None] * (mean_ED - self.keys_ED)
        self.keys_ED = F.normalize(moved_ED, dim=1)


@dataclass(frozen=True)
class Recall:
    """What the memories hold for each token, before it is known; mixing is then a matter of weights."""

    cache_N: Tensor
    """Probability of the true word in the plain cache."""
    nearest_N: Tensor
    """Similarity of the closest state that was looked at."""
    by_sharpness: dict[float, Tensor]
    """Probability of the true word in the memory."""
    looked_at: float
    """Mean share of the stored states that a token was compared with."""
    by_backoff: dict[float, Tensor] = field(default_factory=dict[float, Tensor])
    """Probability of the true word among those that followed the word before it."""


def recall(
    seen: FrozenPass,
    vocab_size: int,
    sharpnesses: tuple[float, ...],
    *,
    buckets: Buckets | None,
    num_buckets: int = 2,
    backoffs: tuple[float, ...] = (),
) -> Recall:
    """Read the rows in chunks: look up first, then store. Without buckets every state is looked at."""
    counts_V = torch.zeros(vocab_size, dtype=torch.float64)
    states: list[Tensor] = []
    words: list[Tensor] = []
    homes: list[Tensor] = []
    cache: list[Tensor] = []
    nearest: list[Tensor] = []
    found: dict[float, list[Tensor]] = {one: [] for one in sharpnesses}
    looked = total = 0.0
    for hidden_SD, targets_S in zip(seen.hidden_BSD, seen.targets_BS, strict=True):
        for hidden_CD, word_C in zip(hidden_SD.split(CHUNK), targets_S.split(CHUNK), strict=True):
            query_CD = F.normalize(hidden_CD, dim=1) if buckets is None else buckets.queries(hidden_CD)
            share_C = counts_V[word_C] / counts_V.sum().clamp(min=1)
            cache.append((1 - UNIFORM) * share_C + UNIFORM / vocab_size)
            if states:
                stored_MD, stored_M = torch.cat(states), torch.cat(words)
                near_CM = query_CD @ stored_MD.T
                if buckets is not None:
                    home_M = torch.cat(homes)
                    own_CK = buckets.nearest(query_CD, num_buckets)
                    open_CM = (own_CK[:, :, None] == home_M).any(dim=1)
                    near_CM = near_CM.masked_fill(~open_CM, -torch.inf)
                    looked += float(open_CM.sum())
                else:
                    looked += near_CM.numel()
                total += near_CM.numel()
                same_CM = stored_M[None] == word_C[:, None]
                nearest.append(near_CM.amax(dim=1).clamp(min=-1))
                for one in sharpnesses:
                    weight_CM = torch.softmax(one * near_CM, dim=1).nan_to_num()
                    found[one].append((weight_CM * same_CM).sum(dim=1).double())
            else:
                nearest.append(torch.full((len(word_C),), -1.0))
                for one in sharpnesses:
                    found[one].append(torch.zeros(len(word_C), dtype=torch.float64))
            counts_V.index_add_(0, word_C, torch.ones(len(word_C), dtype=torch.float64))
            states.append(query_CD)
            words.append(word_C)
            if buckets is not None:
                winner_C = buckets.nearest(query_CD, 1)[:, 0]
                homes.append(winner_C)
                buckets.attract_(query_CD, winner_C)
    by_sharpness = {one: torch.cat(parts) for one, parts in found.items()}
    cache_N = torch.cat(cache)
    by_backoff = _recalled_bigrams(seen, cache_N, backoffs) if backoffs else {}
    return Recall(cache_N, torch.cat(nearest), by_sharpness, looked / max(total, 1.0), by_backoff)


def _recalled_bigrams(seen: FrozenPass, cache_N: Tensor, backoffs: tuple[float, ...]) -> dict[float, Tensor]:
    """The same for pairs of words: counted in the same chunks, looked up before they are stored."""
    pairs, firsts = Counter[tuple[int, int]](), Counter[int]()
    followed: list[float] = []
    total: list[float] = []
    for before_S, word_S in zip(seen.previous_BS, seen.targets_BS, strict=True):
        for before_C, word_C in zip(before_S.split(CHUNK), word_S.split(CHUNK), strict=True):
            here = list(zip(before_C.tolist(), word_C.tolist(), strict=True))
            followed += [pairs[pair] for pair in here]
            total += [firsts[before] for before, _ in here]
            known = [pair for pair in here if pair[0] >= 0]
            pairs.update(known)
            firsts.update(before for before, _ in known)
    followed_N = torch.tensor(followed, dtype=torch.float64)
    total_N = torch.tensor(total, dtype=torch.float64)
    return {one: (followed_N + one * cache_N) / (total_N + one) for one in backoffs}


def mixed(nats_N: Tensor, recalled: Recall, weights: Weights) -> Tensor:
    """The loss of each token with a memory in the mixture, [N]."""
    model_N = (-nats_N.double()).exp()
    if weights.backoff is not None:
        memory_N, share_N = recalled.by_backoff[weights.backoff], torch.full_like(model_N, weights.share)
    elif weights.sharpness == 0:
        memory_N, share_N = recalled.cache_N, torch.full_like(model_N, weights.share)
    else:
        memory_N = recalled.by_sharpness[weights.sharpness]
        share_N = weights.share * (recalled.nearest_N >= weights.threshold).double()
    return -((1 - share_N) * model_N + share_N * memory_N).log()


SHARES = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25)
SHARPNESSES = (5.0, 10.0, 20.0, 40.0)
THRESHOLDS = (-1.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8)
BACKOFFS = (0.5, 2.0, 5.0, 20.0, 100.0)


def tuned(nats_N: Tensor, recalled: Recall) -> Weights:
    """The weights with the lowest loss on this text, which is not the text they are used on: of bigrams or
    stored states where they were recalled, else of the cache."""
    candidates = [Weights(share, backoff=backoff) for share in SHARES for backoff in recalled.by_backoff] + [
        Weights(share, sharpness, threshold)
        for share in SHARES
        for sharpness in recalled.by_sharpness
        for threshold in THRESHOLDS
    ]
    candidates = candidates or [Weights(share) for share in SHARES]
    return min(candidates, key=lambda one: float(mixed(nats_N, recalled, one).mean()))
