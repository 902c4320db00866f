"""How long a run is: steps known from the start, or minutes, with progress by the clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

from somelab.config import TrainConfig


@dataclass(frozen=True)
class Budget:
    """One of steps and seconds is set."""

    steps: int | None = None
    seconds: float | None = None
    reserve: float = 0.0
    """Seconds at the end of a time budget in which nothing is trained."""

    @classmethod
    def of(cls, config: TrainConfig, batches_per_epoch: int) -> Budget:
        if config.minutes is not None:
            return cls(seconds=config.minutes * 60)
        if config.steps is not None:
            return cls(steps=config.steps)
        assert config.epochs is not None
        return cls(steps=max(1, math.ceil(config.epochs * batches_per_epoch)))

    def progress(self, step: float, seconds: float) -> float:
        """Share of the run that is over after `step` steps and `seconds`, from 0 to 1."""
        if self.steps is not None:
            return min(1.0, step / self.steps)
        assert self.seconds is not None
        return min(1.0, seconds / (self.seconds - self.reserve))

    def num_steps(self, step: int, seconds: float) -> int:
        """Steps of the whole run: known, or extrapolated from the clock."""
        if self.steps is not None:
            return self.steps
        progress = self.progress(step, seconds)
        return max(step + 1, round(step / progress)) if progress > 0 and step else 1_000_000

    def is_over(self, step: int, seconds: float) -> bool:
        if self.steps is not None:
            return step >= self.steps
        assert self.seconds is not None
        return seconds >= self.seconds - self.reserve


class Cadence:
    """Decides when something is due: every n-th step, or a number of times in a run, evenly by progress.

    Holds no state beyond the last step's progress, which the caller passes, so that a resumed run decides the
    same."""

    def __init__(self, every: int | None, times: int) -> None:
        self.every, self.times = every, times

    def is_due(self, step: int, before: float, after: float) -> bool:
        """After `step` steps, when progress went from `before` to `after`."""
        if self.every is not None:
            return step % self.every == 0
        return math.floor(after * self.times) > math.floor(before * self.times)
