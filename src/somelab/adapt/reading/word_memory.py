"""A word memory: recent word frequencies, mixed into the model's prediction. Closed form, no gradient.

`cache` keeps one count per word, `bigram` one per pair of a word and the next: baselines for cheap
adaptation, not part of SoME. `memory` keeps one per expert and word: a token uses the memories of the experts
selected in the first layer, weighted by their gates.

Shape letters: B sequences, T tokens, N selected tokens, K experts per token, S memories, V vocabulary."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

HALF_LIFE = 20_000.0  # counted tokens after which an occurrence has half its weight
FIRST_WEIGHT, LARGEST_WEIGHT = 0.05, 0.5
MEMORY = 0.9
RECENT = 32  # tokens of the same sequence whose losses decide the weight of the memory
LARGEST_ODDS = 6.0
BACKOFF = 200.0  # pseudo-counts of the overall frequencies in an expert's memory
BIGRAM_BACKOFF = 5.0  # the same in the memory of a word: the best of 2, 5, 20 and 100 on the built-in text
MOST_COUNTS = 1 << 25  # of a bigram memory, half a gigabyte: in a larger vocabulary words share counts
UNIFORM = 0.05  # share of a uniform distribution, so that unseen words have a non-zero probability


class MemorySlots(NamedTuple):
    """The memories of each token and their weights, which add up to 1."""

    slots_BTK: Tensor
    shares_BTK: Tensor

    @classmethod
    def of_routing(cls, indices_TK: Tensor, gates_TK: Tensor, shape: torch.Size) -> MemorySlots:
        gates_TK = gates_TK.double()
        shares_TK = gates_TK / gates_TK.sum(dim=1, keepdim=True)
        return cls(indices_TK.view(*shape, -1), shares_TK.view(*shape, -1))

    @classmethod
    def of_words(cls, words_BT: Tensor, num_slots: int) -> MemorySlots:
        """One memory per token: that of its word, which is the word before the predicted one."""
        slots_BTK = (words_BT % num_slots)[..., None]
        return cls(slots_BTK, torch.ones_like(slots_BTK, dtype=torch.float64))


def bigram_slots(vocab_size: int) -> int:
    """How many memories a bigram memory has: one per word, as far as `MOST_COUNTS` allows."""
    return max(1, min(vocab_size, MOST_COUNTS // vocab_size))


class WordMemory:
    """p'(w) = (1 - l) p(w) + l c(w), c the share of w among the words read lately: all of them, or those that
    followed tokens of the same experts or the same word.

    The weight l of a token is the Bayesian one: the odds of memory against model over the last tokens of its
    own sequence, from prior odds that follow the stream (the mean responsibility of the memory, one step of
    expectation maximisation an update)."""

    def __init__(
        self, vocab_size: int, device: torch.device, num_slots: int = 0, backoff: float = BACKOFF
    ) -> None:
        """`num_slots`: memories beside that of all tokens; `backoff`: pseudo-counts of that one in each."""
        self.backoff = backoff
        self.count_V = torch.zeros(vocab_size, dtype=torch.float64, device=device)
        self.count_SV = torch.zeros(num_slots, vocab_size, dtype=torch.float64, device=device)
        self._total_S = self.count_SV.sum(dim=1)
        self.weight = FIRST_WEIGHT
        self._forget_new_()

    def _forget_new_(self) -> None:
        self._new_V, self._new_SV = torch.zeros_like(self.count_V), torch.zeros_like(self.count_SV)
        self._responsibility, self._num = 0.0, 0

    def mixed(
        self, nats_BT: Tensor, targets_BT: Tensor, counted_BT: Tensor, slots: MemorySlots | None
    ) -> Tensor:
        """The loss of each token with the memory in the mixture."""
        if not bool(self.count_V.any()):
            return nats_BT
        share_BT = self._shares(targets_BT, slots)
        weight_BT = self._weights(nats_BT.double(), share_BT, counted_BT)
        mixed_BT = -torch.log((1 - weight_BT) * (-nats_BT.double()).exp() + weight_BT * share_BT)
        return mixed_BT.float()

    def _shares(self, targets_BT: Tensor, slots: MemorySlots | None) -> Tensor:
        vocab_size = self.count_V.shape[0]
        share_BT = (1 - UNIFORM) * self.count_V[targets_BT] / self.count_V.sum() + UNIFORM / vocab_size
        if slots is None:
            return share_BT
        seen_BTK = self.count_SV[slots.slots_BTK, targets_BT[..., None]]
        total_BTK = self._total_S[slots.slots_BTK]
        own_BTK = (seen_BTK + self.backoff * share_BT[..., None]) / (total_BTK + self.backoff)
        return (own_BTK * slots.shares_BTK).sum(dim=2)

    def _weights(self, nats_BT: Tensor, share_BT: Tensor, counted_BT: Tensor) -> Tensor:
        """The weight of each token, from tokens before it only."""
        odds_BT = torch.where(counted_BT, share_BT.log() + nats_BT, 0.0).clamp(-LARGEST_ODDS, LARGEST_ODDS)
        before_BT = F.pad(odds_BT.cumsum(dim=1), (1, 0))[:, :-1]
        long_before_BT = F.pad(before_BT, (RECENT, 0))[:, : before_BT.shape[1]]
        recent_BT = (before_BT - long_before_BT).clamp(-LARGEST_ODDS, LARGEST_ODDS)
        prior = math.log(max(self.weight, 1e-6) / (1 - self.weight))
        return torch.sigmoid(prior + recent_BT)

    def see_(
        self,
        selected_BT: Tensor,
        nats_BT: Tensor,
        mixed_BT: Tensor,
        targets_BT: Tensor,
        slots: MemorySlots | None,
    ) -> None:
        """Add words that have been scored, with their losses without and with the memory."""
        targets_N = targets_BT[selected_BT]
        if bool(self.count_V.any()):
            # The weight that was used follows from p' = (1 - l) p + l c, so the memory's part is 1 - (1 - l)
            # p / p'.
            share_BT = self._shares(targets_BT, slots)
            weight_BT = self._weights(nats_BT.double(), share_BT, selected_BT)
            part_BT = weight_BT * share_BT * mixed_BT.double().exp()
            self._responsibility += float(part_BT[selected_BT].clamp(0, 1).sum())
        self._num += targets_N.numel()
        self._new_V.index_add_(0, targets_N, torch.ones_like(targets_N, dtype=torch.float64))
        if slots is not None:
            slots_NK, shares_NK = slots.slots_BTK[selected_BT], slots.shares_BTK[selected_BT]
            words_NK = targets_N[:, None].expand_as(slots_NK)
            self._new_SV.index_put_(
                (slots_NK.reshape(-1), words_NK.reshape(-1)), shares_NK.reshape(-1), accumulate=True
            )

    def move_(self) -> None:
        """Add them to the counts."""
        if self._num:
            if bool(self.count_V.any()):
                here = self._responsibility / self._num
                self.weight = min(LARGEST_WEIGHT, MEMORY * self.weight + (1 - MEMORY) * here)
            fading = 0.5 ** (self._num / HALF_LIFE)
            self.count_V = self.count_V * fading + self._new_V
            self.count_SV = self.count_SV * fading + self._new_SV
            self._total_S = self.count_SV.sum(dim=1)  # once an update: a table of bigrams is large
        self._forget_new_()

    def revert_(self, share: float) -> None:
        """Reduce the weight of the memory; its counts are unchanged."""
        self.weight *= 1 - share
