"""Scores of a stream: nats over the counted tokens, and the three figures derived from them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Score:
    """Sums over a stretch of text; stretches add up."""

    nats: float = 0.0
    num_tokens: int = 0
    num_bytes: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.nats + other.nats, self.num_tokens + other.num_tokens, self.num_bytes + other.num_bytes
        )

    @property
    def loss(self) -> float:
        """Nats per token."""
        return self.nats / max(1, self.num_tokens)

    @property
    def ppl(self) -> float:
        return math.exp(self.loss) if self.loss < 700 else math.inf

    @property
    def bits_per_byte(self) -> float:
        return self.nats / math.log(2) / max(1, self.num_bytes)

    def record(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "val_loss": self.loss,
            "val_ppl": self.ppl,
            "bits_per_byte": self.bits_per_byte,
            "num_tokens": self.num_tokens,
            "num_bytes": self.num_bytes,
        }


def total(scores: Iterable[Score]) -> Score:
    """All stretches as one."""
    return sum(scores, Score())


def windows(scores: list[Score], num: int) -> list[Score]:
    """A stream's scores gathered into at most `num` stretches of about equal length, in order."""
    all_tokens = sum(score.num_tokens for score in scores)
    gathered: list[Score] = []
    begun, passed = Score(), 0
    for score in scores:
        begun, passed = begun + score, passed + score.num_tokens
        if passed * num >= (len(gathered) + 1) * all_tokens:
            # A chunk longer than a window closes several at once; they are kept as one.
            gathered.append(begun)
            begun = Score()
    return gathered
