"""A sweep from a plan to its table: prepare once, run what is not finished, read the run folders, write the table."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from somelab.config import override
from somelab.disk import atomic
from somelab.experiments.drive import Driven, ExecutorName, drive, executor_of, prepared_jobs, room
from somelab.experiments.job import read_outcome
from somelab.experiments.plan import Plan, identity
from somelab.experiments.table import Row, read_figures, rows_of, write_table


@dataclass(frozen=True)
class SweepResult:
    """What a call of a sweep has done, and the table as it stands."""

    plan: Plan
    rows: list[Row]
    driven: Driven

    @property
    def exit_code(self) -> int:
        """130 where it was stopped, 1 where an arm failed: a table with holes is no success to build on."""
        return 130 if self.driven.interrupted else 1 if self.driven.failed else 0


def run_sweep(
    plan: Plan,
    out: Path,
    *,
    executor: ExecutorName = "local",
    num_workers: int | None = None,
    report: Callable[[str, int], None] | None = None,
) -> SweepResult:
    """Run a plan in a folder, or go on with it, and write its table."""
    plan = anchored(plan)
    num_workers, num_threads = room(num_workers)
    looked_at = prepared_jobs(plan.jobs(out), report)
    with atomic.explained(out):
        out.mkdir(parents=True, exist_ok=True)
    atomic.write_text(out / "plan.json", json.dumps(_plan_record(plan), indent=1) + "\n")
    driven = drive(looked_at, executor_of(executor, num_workers, num_threads), num_workers)
    rows = tabulate(plan, out)
    return SweepResult(plan, rows, driven)


def tabulate(plan: Plan, out: Path) -> list[Row]:
    """Read what has finished, and write the table and the times beside it."""
    outcomes = [outcome for job in plan.jobs(out) if (outcome := read_outcome(job)) is not None]
    failures = {(one.arm, one.seed): one.reason for one in outcomes if one.status == "failed"}
    rows = rows_of(plan, read_figures(plan, out), failures)
    write_table(plan, rows, out)
    # What depends on the clock is kept apart, so that the same plan gives the same table everywhere.
    atomic.write_text(out / "times.json", json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")
    return rows


def anchored(plan: Plan) -> Plan:
    """The plan with the whole path of its text file, so that it can be gone on with from any folder."""
    from somelab.train.session import anchored as anchored_config

    return replace(plan, arms=tuple(replace(arm, config=anchored_config(arm.config)) for arm in plan.arms))


def timed(plan: Plan, minutes: float) -> Plan:
    """The plan with so many minutes for every run; their schedules then follow the clock."""
    arms = tuple(replace(arm, config=override(arm.config, {"train.minutes": minutes})) for arm in plan.arms)
    return replace(plan, arms=arms, settings={**plan.settings, "train.minutes": str(minutes)})


def _plan_record(plan: Plan) -> dict[str, Any]:
    arms = [{"name": arm.name, "base": arm.base, "preset": arm.preset, "config_digest": identity(arm.config)} for arm in plan.arms]
    return {"name": plan.name, "title": plan.title, "scale": plan.scale, "seeds": list(plan.seeds), "arms": arms}
