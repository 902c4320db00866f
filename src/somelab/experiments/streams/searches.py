"""The searches of a tuned study: the learning rate of each base first, then that of each learner, which
starts from the base of the search.

OUT/tuning/base-dense-1f2e3d4c/0.016/seed-1000   a base; the best of them is where tuning runs start
OUT/tuning/dense-5a6b7c8d/0.004/seed-1000        a tuning run of a learner
OUT/base-dense/seed-0, OUT/dense/seed-0          a judged base and a judged run

A learner is chosen by its average loss over all experiences at the end of the stream, on documents held back
from the training text (`data.purpose` = tune) and with a random seed that judges nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from somelab.adapt.continual.learners import LEARNERS
from somelab.config import override
from somelab.experiments.runner.job import JobOutcome, state_of
from somelab.experiments.runner.plan import Arm, Job, Plan
from somelab.experiments.streams.plan import (
    StreamSettings,
    base_configs,
    base_jobs,
    base_name,
    first_rate,
    follow,
    kinds_of,
    stream_plan,
)
from somelab.experiments.sweeps.sweep import anchored
from somelab.experiments.tuning.arms import FOLDER
from somelab.experiments.tuning.curve import Curve
from somelab.experiments.tuning.tuner import SEED, Tuner, check_judging

MEASURE = "average_loss"


class StreamSearches:
    """All searches of a study, and the jobs that they allow."""

    def __init__(self, settings: StreamSettings, out: Path) -> None:
        self.settings, self.out = settings, out
        self.untuned_plan = anchored(stream_plan(settings))
        check_judging(self.untuned_plan.seeds)
        self.base_tuners = {kind: self._base_tuner(kind) for kind in kinds_of(settings)}
        self.tuners: dict[str, Tuner] = {}
        self.base_curves: dict[str, Curve] = {}
        self.curves: dict[str, Curve] = {}
        self._forgiven: set[str] = set()
        self.look()

    def look(self) -> None:
        """Read from the folders how far every search is."""
        self.base_curves = {kind: tuner.curve() for kind, tuner in self.base_tuners.items()}
        for arm in self.untuned_plan.arms:
            kind = LEARNERS[arm.name].feed_forward
            if arm.name not in self.tuners and LEARNERS[arm.name].has_rate and self._has_base(kind):
                self.tuners[arm.name] = self._tuner(arm, kind)
        for tuner in (*self.base_tuners.values(), *self.tuners.values()):
            if tuner.arm not in self._forgiven:
                tuner.forgive_()
                self._forgiven.add(tuner.arm)
        self.curves = {name: tuner.curve() for name, tuner in self.tuners.items()}

    def _base_tuner(self, kind: str) -> Tuner:
        source = self.untuned_plan.arms[0].config.data.source  # with its whole path
        config = override(base_configs(self.settings)[kind], {"data.source": source})
        rate = config.train.learning_rate
        return Tuner(
            base_name(kind), config, self.out / FOLDER, anchor=rate, start=0, scale=self.settings.scale
        )

    def _tuner(self, arm: Arm, kind: str) -> Tuner:
        return Tuner(
            arm.name,
            arm.config,
            self.out / FOLDER,
            anchor=first_rate(self.settings, kind),
            start=0,
            scale=self.settings.scale,
            task=follow(self.settings, arm.name, self._tuning_base(kind)),
            measure=MEASURE,
        )

    def _has_base(self, kind: str) -> bool:
        return self.settings.from_scratch or self.base_curves[kind].is_over

    def _tuning_base(self, kind: str) -> str:
        """The folder of the best base of the search, without the seed, relative to the study's."""
        if self.settings.from_scratch:
            return base_name(kind)
        index = self.base_curves[kind].best_index
        assert index is not None
        return str(self.base_tuners[kind].job(index).folder.parent.relative_to(self.out))

    @property
    def base_rates(self) -> dict[str, float]:
        """The chosen rate of each kind of base whose search is over."""
        return {kind: curve.best for kind, curve in self.base_curves.items() if curve.is_over}

    @property
    def plan(self) -> Plan:
        """The plan with the chosen rate in every arm whose search is over."""
        arms = tuple(
            replace(arm, config=override(arm.config, {"train.learning_rate": self.curves[arm.name].best}))
            if self._is_chosen(arm.name) and arm.name in self.curves
            else arm
            for arm in self.untuned_plan.arms
        )
        return replace(self.untuned_plan, arms=arms)

    def _is_chosen(self, learner: str) -> bool:
        if not LEARNERS[learner].has_rate:
            return self._has_base(LEARNERS[learner].feed_forward)
        return learner in self.curves and self.curves[learner].is_over

    def jobs(self) -> list[Job]:
        """What can be run now, finished runs included: searches first, then judged bases, then judged runs
        whose base is trained."""
        self.look()
        searching = [job for tuner in self.base_tuners.values() for job in tuner.jobs()]
        searching += [job for tuner in self.tuners.values() for job in tuner.jobs()]
        bases = base_jobs(self.settings, self.plan, self.out, self.base_rates)
        trained = {job.key for job in bases if state_of(job) == "finished"}
        judged = [
            job
            for job in self.plan.jobs(self.out)
            if self._is_chosen(job.arm)
            and (
                self.settings.from_scratch or (base_name(LEARNERS[job.arm].feed_forward), job.seed) in trained
            )
        ]
        return [*searching, *bases, *judged]

    def outcomes(self) -> list[JobOutcome]:
        """How the tuning runs ended."""
        tuners = (*self.base_tuners.values(), *self.tuners.values())
        return [outcome for tuner in tuners for outcome in tuner.outcomes()]

    def record(self) -> dict[str, Any]:
        """The searches of the bases, for the summary."""
        return {
            base_name(kind): {**curve.record(), "chosen": curve.best if curve.is_over else None}
            for kind, curve in self.base_curves.items()
        }


__all__ = ["MEASURE", "SEED", "StreamSearches"]
