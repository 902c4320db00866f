"""A continual study as a whole: bases first, each learner as soon as its base is trained, then the table. It
runs as a sweep does: in processes of its own, and a killed study continues with what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
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
from somelab.experiments.runner.job import state_of
from somelab.experiments.runner.plan import Plan
from somelab.experiments.streams.plan import StreamSettings, base_jobs, base_name, stream_plan
from somelab.experiments.streams.summary import summarise
from somelab.experiments.streams.task import read_result
from somelab.experiments.sweeps.sweep import anchored, tabulate, write_plan
from somelab.experiments.sweeps.table import Row


@dataclass(frozen=True)
class StudyResult:
    """The table of a study, and the summary that the page shows."""

    plan: Plan
    rows: list[Row]
    summary: dict[str, Any]
    """Empty until a learner is through."""
    driven: Driven

    @property
    def exit_code(self) -> int:
        return 130 if self.driven.interrupted else 1 if self.driven.failed else 0


def run_study(
    settings: StreamSettings,
    out: Path,
    *,
    num_workers: int | None = None,
    report: Callable[[str, int], None] | None = None,
) -> StudyResult:
    """Run or continue a study in a folder, and write its table."""
    plan = anchored(stream_plan(settings))
    learners, bases = plan.jobs(out), base_jobs(settings, plan, out)
    num_workers, num_threads = processes_and_threads(num_workers)
    preparer = Preparer(report)

    def following() -> list[Prepared]:
        """Bases, and the learners whose base is trained."""
        trained = {job.key for job in bases if state_of(job) == "finished"}
        ready = [
            job
            for job in learners
            if settings.from_scratch or (base_name(LEARNERS[job.arm].feed_forward), job.seed) in trained
        ]
        return preparer.prepared([*bases, *ready])

    for job in learners:  # a folder of another study raises before anything is trained
        state_of(job)
    looked_at = following()
    write_plan(plan, out)
    driven = drive(
        looked_at, executor_of("local", num_workers, num_threads), num_workers, following=following
    )
    rows = tabulate(plan, out)
    results = [result for job in learners if (result := read_result(job.folder)) is not None]
    summary = summarise(plan, rows, results) if results else {}
    if summary:
        atomic.write_text(out / "summary.json", json.dumps(summary, indent=1) + "\n")
    return StudyResult(plan, rows, summary, driven)
