"""What a search has found: loss against the value of a setting, the value that was chosen, and whether it may
be trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from somelab.experiments.tuning.method import Method
from somelab.experiments.tuning.search import Trial
from somelab.experiments.tuning.value import Value, is_number, shown

Standing = Literal["tuned", "at the edge", "unfinished", "failed"]
"""at the edge: the best value has no worse one on one side, so the optimum may lie beyond.
failed: a run failed for another reason than its value, or no value has a loss."""


@dataclass(frozen=True)
class Curve:
    """Loss against one setting, for one arm."""

    arm: str
    setting: str
    search: Method
    trials: dict[int, Trial]
    """By the index of their value."""
    seed: int
    digest: str
    """Names what was trained, the value of the setting apart."""
    broken: str = ""
    """Why the search cannot go on, where a run failed for another reason than its value."""
    repeat_seeds: tuple[int, ...] = ()
    """Further seeds with which the best value and the one below have to run before the mean over seeds
    chooses: near the largest rate at which training is stable, one seed in three may start badly, and one run
    does not show it."""

    @property
    def missing_repeats(self) -> list[tuple[int, int]]:
        """Index and seed of the runs that are missing, once the search itself is over."""
        best = self.best_index
        if not self.repeat_seeds or best is None or self.search.wanted(self.trials):
            return []
        near = [index for index in (best - 1, best) if index in self.trials and self.trials[index].ended]
        return [
            (index, seed)
            for index in near
            for seed in self.repeat_seeds
            if seed not in self.trials[index].repeats
        ]

    @property
    def standing(self) -> Standing:
        if self.broken:
            return "failed"
        if self.search.wanted(self.trials) or self.missing_repeats:
            return "unfinished"
        if self.best_index is None:
            return "failed"
        return "tuned" if self.search.is_settled(self.trials) else "at the edge"

    @property
    def is_tuned(self) -> bool:
        return self.standing == "tuned"

    @property
    def is_over(self) -> bool:
        """Whether a value is chosen for good, be it at the edge."""
        return self.standing in ("tuned", "at the edge")

    @property
    def best_index(self) -> int | None:
        """The index of the best value so far; None before a run has ended with a loss."""
        return self.search.best(self.trials)

    @property
    def best(self) -> Value:
        """The best value so far; None before a run has ended, and where the best value is null: see
        `best_index`."""
        index = self.best_index
        return None if index is None else self.trials[index].value

    @property
    def problem(self) -> str:
        """Why the search failed, without the remedy that its log has; empty where it did not."""
        return self.broken.partition(";")[0] or ("no value has a loss" if self.standing == "failed" else "")

    @property
    def num_runs(self) -> float:
        """Tuning runs, in whole runs: one that was left after a quarter counts a quarter."""
        steps = [self.search.num_steps if t.ended else max(t.losses, default=0) for t in self.trials.values()]
        return sum(steps) / self.search.num_steps + sum(len(trial.repeats) for trial in self.trials.values())

    @property
    def ordered(self) -> list[Trial]:
        """All trials: numbers by size, words behind them in the order in which they were given."""

        def place(index: int) -> tuple[bool, float, int]:
            value = self.trials[index].value
            return (False, value, index) if is_number(value) else (True, 0.0, index)

        return [self.trials[index] for index in sorted(self.trials, key=place)]

    @property
    def points(self) -> list[tuple[Value, float]]:
        """Value and final loss of the runs that ended with one, by value."""
        ended = [trial for trial in self.ordered if trial.ended and math.isfinite(trial.final)]
        return [(trial.value, trial.final) for trial in ended]

    @property
    def last_losses(self) -> list[dict[str, Any]]:
        """For JSON, a curve to draw: every value with its last loss, null where it diverged, and whether it
        ended."""
        return [
            {
                "value": trial.value,
                "label": shown(trial.value),
                "loss": _last_loss(trial),
                "step": max(trial.losses, default=0),
                "ended": trial.ended,
            }
            for trial in self.ordered
        ]

    def record(self) -> dict[str, Any]:
        """For JSON. Losses by step, as they are: the curve can be rebuilt from it."""
        return {
            "arm": self.arm,
            "setting": self.setting,
            "best": self.best,
            "standing": self.standing,
            "runs": self.num_runs,
            "seed": self.seed,
            "steps": self.search.num_steps,
            **self.search.facts(),
            "digest": self.digest,
            "trials": [
                {
                    "value": trial.value,
                    "losses": {str(step): round(loss, 5) for step, loss in sorted(trial.losses.items())},
                    "ended": trial.ended,
                    **({"failed": trial.failed} if trial.failed else {}),
                    **({"repeats": _finite(trial.repeats)} if trial.repeats else {}),
                }
                for trial in self.ordered
            ],
        }


def _last_loss(trial: Trial) -> float | None:
    if trial.ended:
        return trial.final if math.isfinite(trial.final) else None
    return trial.losses[max(trial.losses)] if trial.losses else None


def _finite(losses: Mapping[int, float]) -> dict[str, float | None]:
    """For JSON, which has no infinity: null stands for a run that diverged."""
    return {
        str(seed): round(loss, 5) if math.isfinite(loss) else None for seed, loss in sorted(losses.items())
    }


def trials_of(record: dict[str, Any], search: Method) -> dict[int, Trial]:
    """The trials of a curve that was written down."""
    found: dict[int, Trial] = {}
    for one in record["trials"]:
        losses = {int(step): float(loss) for step, loss in one["losses"].items()}
        repeats = {
            int(seed): math.inf if loss is None else loss for seed, loss in one.get("repeats", {}).items()
        }
        found[search.index(one["value"])] = Trial(
            one["value"], losses, bool(one["ended"]), str(one.get("failed", "")), repeats
        )
    return found
