"""The search among values that were given: successive halving.

All values are trained for a quarter of the run, the better half of them for a half of it, and the better half
of those to the end. Halves are rounded up, and equal losses go by the order in which the values were given.
All runs of one length come before any longer one, so that the same losses always lead to the same choice. The
list is never extended. A value that diverges counts as the worst from the start, so that the next best takes
its place.

Source: Jamieson and Talwalkar (2016), "Non-stochastic best arm identification and hyperparameter
optimization"."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from somelab.experiments.tuning.search import Trial, Trials, quarter
from somelab.experiments.tuning.value import Value, folder_name, is_number


@dataclass(frozen=True)
class Halving:
    """Which of the given values to train, and how far. The index of a value is its place in the list."""

    values: tuple[Value, ...]
    num_steps: int

    def value(self, index: int) -> Value:
        return self.values[index]

    def index(self, value: Value) -> int:
        """The place of a value in the list."""
        return self.values.index(value)

    def index_of_folder(self, name: str) -> int | None:
        """The index whose run folder has this name; None for a folder of a value that is not in the list."""
        return next((index for index, value in enumerate(self.values) if folder_name(value) == name), None)

    def facts(self) -> dict[str, Any]:
        """What names the values of this search, for a record."""
        return {"values": list(self.values)}

    @property
    def rungs(self) -> tuple[int, ...]:
        """The steps at which the worse half is dropped: after a quarter and after a half of the run."""
        step = quarter(self.num_steps)
        return tuple(rung for rung in (step, 2 * step) if rung < self.num_steps)

    def wanted(self, trials: Trials) -> dict[int, int]:
        """What to train next: the step to reach, by index. Empty when the search is over."""
        going_on = list(range(len(self.values)))
        for rung in self.rungs:
            waiting = {index: rung for index in going_on if not _has_reached(trials.get(index), rung)}
            if waiting:
                return waiting
            ranked = sorted(going_on, key=lambda index: (_loss_at(trials[index], rung), index))
            going_on = sorted(ranked[: math.ceil(len(ranked) / 2)])
        return {index: self.num_steps for index in going_on if not _has_ended(trials.get(index))}

    def best(self, trials: Trials) -> int | None:
        """The index of the best ended run; None where none has ended with a loss."""
        ended = {index: trial.final for index, trial in trials.items() if trial.ended}
        finals = {index: loss for index, loss in ended.items() if math.isfinite(loss)}
        return min(finals, key=lambda index: (finals[index], index), default=None)

    def is_settled(self, trials: Trials) -> bool:
        """Whether nothing is left to train, and the best value is not at the edge of the list."""
        return self.best(trials) is not None and not self.wanted(trials) and not self.is_at_edge(trials)

    def is_at_edge(self, trials: Trials) -> bool:
        """Whether the best value is the smallest or the largest number of the list. Words have no edge."""
        best = self.best(trials)
        if best is None or not is_number(self.values[best]):
            return False
        numbers = [value for value in self.values if is_number(value)]
        return self.values[best] in (min(numbers), max(numbers))


def _has_reached(trial: Trial | None, step: int) -> bool:
    """Whether a run has a loss at a step or beyond; a run that ended or diverged needs no more steps."""
    return trial is not None and (trial.ended or any(known >= step for known in trial.losses))


def _has_ended(trial: Trial | None) -> bool:
    return trial is not None and trial.ended


def _loss_at(trial: Trial, rung: int) -> float:
    """The first loss from that step on; infinite for a run that diverged, then or later."""
    if trial.failed:
        return math.inf
    return trial.losses[min(step for step in trial.losses if step >= rung)]
