"""The rate of adaptation along a stream: constant, decaying, or decaying anew from each shift of the text. A
shift is detected from the losses: a chunk far above the mean of the chunks before it."""

from __future__ import annotations

import math

MEMORY = 0.9
DEVIATIONS = 4.0
LEAST_CHUNKS = 8
LEAST_SPREAD = 0.02  # of the mean loss: a lower bound, so that small changes are not taken for shifts


class ShiftDetector:
    """Mean and spread of the chunks' losses, as moving averages; a loss `DEVIATIONS` spreads above the mean
    is a shift."""

    def __init__(self) -> None:
        self._mean, self._square, self._num = 0.0, 0.0, 0

    def is_shift(self, loss: float) -> bool:
        """Whether this chunk begins another kind of text; updates mean and spread."""
        spread = max(math.sqrt(max(0.0, self._square - self._mean**2)), LEAST_SPREAD * abs(self._mean))
        found = self._num >= LEAST_CHUNKS and loss > self._mean + DEVIATIONS * spread
        memory = 0.0 if found or not self._num else min(MEMORY, self._num / (self._num + 1))
        self._mean = memory * self._mean + (1 - memory) * loss
        self._square = memory * self._square + (1 - memory) * loss**2
        self._num = 1 if found else self._num + 1
        return found


class Pace:
    """The factor on all rates at each update."""

    def __init__(self, schedule: str, rate: float) -> None:
        self.schedule, self.rate = schedule, rate
        self.num_shifts = 0
        self._since, self._detector = 0, ShiftDetector()

    def next(self, loss: float) -> float:
        """The factor for the update after a chunk of this mean loss."""
        shifted = self._detector.is_shift(loss)
        self.num_shifts += shifted
        if self.schedule == "constant":
            return self.rate
        self._since = 0 if shifted and self.schedule == "burst" else self._since
        self._since += 1
        return self.rate / math.sqrt(self._since)
