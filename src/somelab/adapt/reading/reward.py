"""The advantage of each token: expected minus actual loss. The expectation is a running mean per target word,
so that frequent words do not count as good routing.

Shape letters: N counted tokens, V vocabulary."""

from __future__ import annotations

import torch
from torch import Tensor

MEMORY = 0.9  # decay factor at each occurrence of a word


class Expectation:
    """The running mean loss of each word on this stream."""

    def __init__(self, vocab_size: int, device: torch.device) -> None:
        self._mean_V = torch.zeros(vocab_size, device=device)
        self._known_V = torch.zeros(vocab_size, dtype=torch.bool, device=device)

    def advantage(self, nats_N: Tensor, targets_N: Tensor) -> Tensor:
        """Expected minus actual loss in units of its standard deviation, with mean 0; a new word has
        advantage 0. Updates the expectation."""
        expected_N = torch.where(self._known_V[targets_N], self._mean_V[targets_N], nats_N)
        advantage_N = expected_N - nats_N
        advantage_N = advantage_N - advantage_N.mean()
        self._learn_(nats_N, targets_N)
        return advantage_N / advantage_N.std(correction=0).clamp(min=1e-6)

    def _learn_(self, nats_N: Tensor, targets_N: Tensor) -> None:
        words, place_N, count = targets_N.unique(return_inverse=True, return_counts=True)
        here = torch.zeros(len(words), device=nats_N.device).index_add_(0, place_N, nats_N) / count
        keep = torch.where(self._known_V[words], MEMORY ** count.float(), 0.0)
        self._mean_V[words] = keep * self._mean_V[words] + (1 - keep) * here
        self._known_V[words] = True
