"""The search for the best value of one number: a geometric grid that grows until its best value lies inside.

Every first value of the grid is trained for a quarter of the run. From there on it is a hill climb: the best
value so far and its two neighbours on the grid run to their end, and where a neighbour turns out better, its
own neighbours follow. The search is settled when the best of the ended runs has an ended, worse run on either
side; a neighbour that the grid lacks is added. So most of the grid costs a quarter of a run, and the bracket
around the chosen value is measured at full length: runs at a high learning rate look bad until the schedule
lowers it, and an early ranking would drop them. `fine` adds the two values halfway (in logarithm) to the
neighbours of the best, and chooses among all.

Where a good guess is known (`start`, the best value of a similar arm or of a shorter run), the climb begins
there, in half steps if `fine`: three runs to the end and, beside them, values that run for a quarter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from somelab.experiments.tuning.value import Value, folder_name

FACTOR = 2.0
QUARTERS = 4
"""Of a run. Every first value is trained for one of them."""
LEAST_VALUES = 4
REACH = 16
"""How far the grid may grow beyond its first values: by a factor of 256. An optimum beyond is reported as at
the edge."""


@dataclass(frozen=True)
class Trial:
    """One value, as far as it was trained."""

    value: Value
    losses: Mapping[int, float] = field(default_factory=dict[int, float])
    """Validation loss by step."""
    ended: bool = False
    """Whether it ran to its end, or diverged."""
    failed: str = ""
    """Why it has no loss at its end."""
    repeats: Mapping[int, float] = field(default_factory=dict[int, float])
    """The loss at the end of runs with other seeds, by seed; infinite for one that diverged."""

    @property
    def final(self) -> float:
        """The loss at the end, mean over seeds; infinite where a run diverged."""
        assert self.ended
        own = math.inf if self.failed else self.losses[max(self.losses)]
        return fmean([own, *self.repeats.values()])


Trials = Mapping[int, Trial]
"""Trials by the index of their value. On a grid two indices are FACTOR apart, and the one between them lies
halfway."""


def quarter(num_steps: int) -> int:
    """Steps of a quarter of a run, rounded down: evaluations come at these steps, so that a paused run has
    just had one."""
    return max(1, num_steps // QUARTERS)


def first_values(around: int, *, fine: bool = False) -> tuple[int, ...]:
    """Values of the grid around a guess: one above it, and two below; one below if half steps follow."""
    return (around - 2, around, around + 2) if fine else (around - 4, around - 2, around, around + 2)


@dataclass(frozen=True)
class Search:
    """Which values to train, and how far. Holds no results: those are read from run folders each time."""

    anchor: float
    """The value of index 0."""
    first: tuple[int, ...]
    """The indices to begin with, FACTOR apart."""
    num_steps: int
    fine: bool = False
    limits: tuple[int, int] | None = None
    """The lowest and the highest index that the setting allows; None: as far as REACH."""
    start: int | None = None
    """The index at which the climb begins; None: at the best of the first values."""

    def value(self, index: int) -> float:
        """To three digits, so that a value is the same on every machine."""
        return float(f"{self.anchor * FACTOR ** (index / 2):.3g}")

    def index(self, value: float) -> int:
        """The place of a value of the grid."""
        return round(2 * math.log(value / self.anchor, FACTOR))

    def index_of_folder(self, name: str) -> int | None:
        """The index whose run folder has this name; None for a folder of a value that is not on the grid."""
        try:
            value = float(name)
        except ValueError:
            return None
        index = self.index(value) if value > 0 and math.isfinite(value) else None
        return index if index is not None and folder_name(self.value(index)) == name else None

    def facts(self) -> dict[str, Any]:
        """What names the values of this search, for a record."""
        return {"anchor": self.anchor}

    @property
    def screening_step(self) -> int:
        return quarter(self.num_steps)

    def wanted(self, trials: Trials) -> dict[int, int]:
        """What to train next: the step to reach, by index. Empty when the search is settled or has come to
        its limits."""
        if self.start is not None and self._is_bracketed(trials):
            return {}
        waiting = {
            index: self.screening_step for index in self.first if not self._is_screened(trials.get(index))
        }
        if waiting:
            return waiting
        if self.start is not None:
            step = 1 if self.fine else 2
            missing = self._missing(trials, self.start, step) or self._missing(
                trials, self.best(trials), step
            )
            return dict.fromkeys(missing, self.num_steps)
        # The climb begins when the first bracket is complete.
        screened = self._best_of_screening(trials)
        missing = [] if screened is None else self._missing(trials, screened, step=2)
        missing = missing or self._missing(trials, self._best_of(trials, step=2), step=2)
        if not missing and self.fine and self._best_of(trials, step=2) is not None:
            missing = self._missing(trials, self._best_of(trials, step=1), step=1)
        return dict.fromkeys(missing, self.num_steps)

    def _is_bracketed(self, trials: Trials) -> bool:
        """Whether the best of four values or more has ended neighbours, whichever runs led there."""
        best = self.best(trials)
        near = best is not None and not self._missing(trials, best, 1 if self.fine else 2)
        return near and len(trials) >= LEAST_VALUES

    def best(self, trials: Trials) -> int | None:
        """The index of the best ended run; None where none has ended with a loss."""
        return self._best_of(trials, step=1)

    def is_settled(self, trials: Trials) -> bool:
        """Whether the best value lies inside: ended runs on either side of it, four values at least, nothing
        left to train."""
        best = self.best(trials)
        return (
            best is not None
            and len(trials) >= LEAST_VALUES
            and not self.is_at_edge(trials)
            and not self.wanted(trials)
        )

    def is_at_edge(self, trials: Trials) -> bool:
        """Whether the best value has no ended run below it or none above it."""
        best = self.best(trials)
        ended = [index for index, trial in trials.items() if trial.ended]
        return best is None or best in (min(ended), max(ended))

    def _is_in_reach(self, index: int) -> bool:
        lowest, highest = self.limits or (-math.inf, math.inf)
        return max(lowest, self.first[0] - REACH) <= index <= min(highest, self.first[-1] + REACH)

    def _is_screened(self, trial: Trial | None) -> bool:
        return trial is not None and (
            trial.ended or any(step >= self.screening_step for step in trial.losses)
        )

    def _is_on_grid(self, index: int, step: int) -> bool:
        return (index - self.first[0]) % step == 0

    def _best_of(self, trials: Trials, step: int) -> int | None:
        finals = {
            index: trial.final
            for index, trial in trials.items()
            if trial.ended and self._is_on_grid(index, step)
        }
        best = min(finals, key=lambda index: (finals[index], index), default=None)
        return None if best is None or math.isinf(finals[best]) else best

    def _best_of_screening(self, trials: Trials) -> int | None:
        """The best of the first values after a quarter of the run; None where all have diverged by then."""
        losses = {index: _first_loss(trials[index]) for index in self.first}
        best = min(losses, key=lambda index: (losses[index], index))
        return None if math.isinf(losses[best]) else best

    def _missing(self, trials: Trials, index: int | None, step: int) -> list[int]:
        """What has not ended of an index and its two neighbours; below the grid where nothing on it has a
        loss.

        Values out of reach are never missing; otherwise a search at its limit would not end."""
        bracket = [min(trials) - step] if index is None else [index - step, index, index + step]
        return [one for one in bracket if self._is_in_reach(one) and not _has_ended(trials.get(one))]


def _first_loss(trial: Trial) -> float:
    return trial.losses[min(trial.losses)] if trial.losses else math.inf


def _has_ended(trial: Trial | None) -> bool:
    return trial is not None and trial.ended
