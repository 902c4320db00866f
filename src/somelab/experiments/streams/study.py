"""A continual study as a whole: bases first, each learner as soon as its base is trained, then the table. It
runs as a sweep does: in processes of its own, and a killed study continues with what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from somelab.adapt.continual.learners import LEARNERS
from somelab.disk import atomic
from somelab.experiments.runner.drive import (
    Driven,
    Prepared,
    Preparer,
    drive,
    executor_of,
    processes_and_threads,
)
from somelab.experiments.runner.job import read_outcome, state_of
from somelab.experiments.runner.plan import Plan
from somelab.experiments.streams.plan import (
    StreamSettings,
    base_configs,
    base_jobs,
    base_name,
    kinds_of,
    stream_plan,
)
from somelab.experiments.streams.searches import StreamSearches
from somelab.experiments.streams.summary import summarise
from somelab.experiments.streams.task import read_result
from somelab.experiments.sweeps.sweep import anchored, tabulate, write_plan
from somelab.experiments.sweeps.table import Row
from somelab.experiments.tuning.tuner import SEED, is_divergence


@dataclass(frozen=True)
class StudyResult:
    """The table of a study, and the summary that the page shows."""

    plan: Plan
    rows: list[Row]
    summary: dict[str, Any]
    """Empty until a learner is through."""
    driven: Driven
    out: Path

    @property
    def exit_code(self) -> int:
        """130 if it was stopped, 1 if a learner failed. A tuning run that diverged is not a failure."""
        failed = [one for one in self.driven.failed if one.seed < SEED or not is_divergence(one)]
        return 130 if self.driven.interrupted else 1 if failed else 0

    @property
    def cpu_seconds(self) -> dict[str, float]:
        """Mean over seeds of the processor time of a judged run, by learner. Not part of the summary, which
        is the same on every machine."""
        return cpu_seconds(self.plan, self.out)


def run_study(
    settings: StreamSettings,
    out: Path,
    *,
    num_workers: int | None = None,
    report: Callable[[str, int], None] | None = None,
) -> StudyResult:
    """Run or continue a study in a folder, and write its table."""
    plan = anchored(stream_plan(settings))
    for job in plan.jobs(out):  # a folder of another study raises before anything is trained
        state_of(job)
    searches = StreamSearches(settings, out) if settings.tune else None
    num_workers, num_threads = processes_and_threads(num_workers)
    preparer = Preparer(report)

    def following() -> list[Prepared]:
        """What can be run now: searches, bases, and the learners whose base is trained."""
        if searches is not None:
            return preparer.prepared(searches.jobs())
        learners, bases = plan.jobs(out), base_jobs(settings, plan, out)
        trained = {job.key for job in bases if state_of(job) == "finished"}
        ready = [
            job
            for job in learners
            if settings.from_scratch or (base_name(LEARNERS[job.arm].feed_forward), job.seed) in trained
        ]
        return preparer.prepared([*bases, *ready])

    looked_at = following()
    write_plan(plan, out)
    driven = drive(
        looked_at, executor_of("local", num_workers, num_threads), num_workers, following=following
    )
    if searches is not None:
        searches.look()
        plan = searches.plan
    rows = tabulate(plan, out, searches)
    results = [result for job in plan.jobs(out) if (result := read_result(job.folder)) is not None]
    bases = {} if settings.from_scratch else base_record(settings, searches)
    summary = summarise(plan, rows, results, bases) if results else {}
    if summary:
        atomic.write_text(out / "summary.json", json.dumps(summary, indent=1) + "\n")
    return StudyResult(plan, rows, summary, driven, out)


def base_record(settings: StreamSettings, searches: StreamSearches | None) -> dict[str, Any]:
    """The learning rate of each base, and its search where it was tuned."""
    if searches is not None:
        return searches.record()
    configs = base_configs(settings)
    return {
        base_name(kind): {"chosen": configs[kind].train.learning_rate, "standing": "untuned"}
        for kind in kinds_of(settings)
    }


def cpu_seconds(plan: Plan, out: Path) -> dict[str, float]:
    """Mean over seeds of the processor time of a judged run, by learner."""
    found: dict[str, list[float]] = {}
    for job in plan.jobs(out):
        outcome = read_outcome(job)
        if outcome is not None and outcome.status == "finished":
            found.setdefault(job.arm, []).append(outcome.cpu_seconds)
    return {arm: fmean(seconds) for arm, seconds in found.items()}
