"""Which tokens may move keys, once their losses are known: all that count, the surprising ones, or none.

Shape letters: B sequences, T tokens."""

from __future__ import annotations

import torch
from torch import Tensor

MEMORY = 0.9


class TokenMask:
    """`surprising`: loss above the running median, an average over the medians of earlier passes (the first
    uses its own)."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._median: float | None = None

    def select(self, nats_BT: Tensor, counted_BT: Tensor) -> Tensor:
        """The counted tokens that may move keys. Tokens with a NaN loss move none."""
        counted_BT = counted_BT & nats_BT.isfinite()
        if self.kind == "all":
            return counted_BT
        if self.kind == "none" or not bool(counted_BT.any()):
            return torch.zeros_like(counted_BT)
        here = float(nats_BT[counted_BT].median())
        bar = here if self._median is None else self._median
        self._median = MEMORY * bar + (1 - MEMORY) * here
        return counted_BT & (nats_BT > bar)
