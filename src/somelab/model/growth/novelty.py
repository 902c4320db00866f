"""Novelty: whether the text that arrives is unlike what the pool has learned. Growth by novelty begins when
it says so; it sees losses and gates alone, no labels and no text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Novelty:
    """Compares the loss of a batch with what is expected of the experts that serve it:

        novel:  loss > max_e expected_e + threshold,  over the experts e that serve at least `share` of it
        else:   expected_m += rate (loss - expected_m),  m the expert that serves most of it, unless
                its loss is above expected_m + threshold

    Text is new when `patience` batches in a row are: the loss of a single small batch varies too much. Text
    that returns, and that an older expert serves as well as ever, is not novel, however its loss differs from
    that of the text before it."""

    threshold: float = 0.5
    """Nats per token above the expected loss that count as novel."""
    rate: float = 0.5
    """Weight of the newest batch in a running loss."""
    patience: int = 1
    """Batches above the expected loss, one after the other, that make text new."""
    share: float = 0.1
    """Share of a batch from which on an expert counts as serving it."""
    expected: dict[str, float] = field(default_factory=dict[str, float])
    """Running loss of each expert on the text that it serves."""
    num_novel: int = 0
    """Batches in a row, up to the last one, that were novel."""

    def begin_(self, name: str, loss: float) -> None:
        """Expect a loss of a new expert."""
        self.expected[name], self.num_novel = loss, 0

    def see_(self, loss: float, shares: Mapping[str, float]) -> bool:
        """Whether the text has become new with a batch. `shares`: of each expert in its tokens. The first
        batch never is novel."""
        known = [self.expected[name] for name in self.serving(shares) if name in self.expected]
        if self.expected and loss > max(known, default=max(self.expected.values())) + self.threshold:
            self.num_novel += 1
            return self.num_novel >= self.patience
        self.num_novel = 0
        most = max(shares, key=lambda name: shares[name])
        before = self.expected.get(most, loss)
        # A batch that it serves badly, while a new expert is still learning, says nothing about its own text.
        if loss <= before + self.threshold:
            self.expected[most] = before + self.rate * (loss - before)
        return False

    def serving(self, shares: Mapping[str, float]) -> list[str]:
        """The experts that serve a batch."""
        return [name for name, share in shares.items() if share >= self.share]
