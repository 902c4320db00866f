"""A sweep from a plan to its table: prepare, run what is not finished, read the run folders, write the table.
Where a setting is tuned, the search of an arm comes before its judged runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from somelab.config import override
from somelab.disk import atomic
from somelab.experiments.probes.shift_figure import draw_shifts
from somelab.experiments.runner.drive import (
    Driven,
    ExecutorName,
    Prepared,
    Preparer,
    drive,
    executor_of,
    processes_and_threads,
)
from somelab.experiments.runner.job import JobOutcome, read_outcome
from somelab.experiments.runner.plan import Plan, identity
from somelab.experiments.sweeps.published import ours_by_epoch
from somelab.experiments.sweeps.table import Row, read_figures, rows_of, write_table
from somelab.experiments.tuning.arms import ArmSearches
from somelab.experiments.tuning.curve import Curve
from somelab.experiments.tuning.request import Request
from somelab.experiments.tuning.tuner import SEED, is_divergence


@dataclass(frozen=True)
class SweepResult:
    """The result of a call of a sweep, and the present table."""

    plan: Plan
    """With the chosen value in every arm that is tuned."""
    rows: list[Row]
    driven: Driven

    @property
    def exit_code(self) -> int:
        """130 if it was stopped, 1 if an arm failed, so that scripts do not use an incomplete table. A tuning
        run that diverged is not a failure."""
        if self.driven.interrupted:
            return 130
        failed = [one for one in self.driven.failed if one.seed < SEED or not is_divergence(one)]
        return 1 if failed or any(row.tuning and row.tuning.standing == "failed" for row in self.rows) else 0


def run_sweep(
    plan: Plan,
    out: Path,
    *,
    tune: Request | None = None,
    executor: ExecutorName = "local",
    num_workers: int | None = None,
    report: Callable[[str, int], None] | None = None,
) -> SweepResult:
    """Run or continue a plan in a folder, and write its table. `tune`: what to search for each arm."""
    plan = anchored(plan)
    num_workers, num_threads = processes_and_threads(num_workers)
    preparer = Preparer(report)
    searches = None if tune is None else ArmSearches(plan, tune, out)
    following: Callable[[], list[Prepared]] | None = None
    if searches is None:
        looked_at = preparer.prepared(plan.jobs(out))
    else:
        preparer.prepared(searches.judged_as_found())  # bad settings raise before any search
        following = partial(_next_jobs, searches, preparer)
        looked_at = following()
    write_plan(plan, out, tune)
    running = executor_of(executor, num_workers, num_threads)
    driven = drive(looked_at, running, num_workers, following=following)
    if searches is not None:
        searches.look()
        plan = searches.plan
    return SweepResult(plan, tabulate(plan, out, searches), driven)


def _next_jobs(searches: ArmSearches, preparer: Preparer) -> list[Prepared]:
    searches.look()
    return preparer.prepared(searches.jobs())


class Searches(Protocol):
    """The searches of a tuned experiment, as its table needs them."""

    curves: dict[str, Curve]

    def outcomes(self) -> list[JobOutcome]: ...


def tabulate(plan: Plan, out: Path, searches: Searches | None = None) -> list[Row]:
    """Read what has finished, and write the table and the times beside it."""
    outcomes = [outcome for job in plan.jobs(out) if (outcome := read_outcome(job)) is not None]
    failures = {(one.arm, one.seed): one.reason for one in outcomes if one.status == "failed"}
    curves = searches.curves if searches else None
    rows = rows_of(plan, read_figures(plan, out), failures, curves, ours_by_epoch(plan, out))
    write_table(plan, rows, out)
    draw_shifts(plan, out)
    outcomes += searches.outcomes() if searches else []
    # Times are kept apart, so that the same plan gives the same table everywhere.
    atomic.write_text(
        out / "times.json", json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n"
    )
    return rows


def anchored(plan: Plan) -> Plan:
    """The plan with the whole path of its text file, so that it can be continued from any folder."""
    from somelab.training.session import anchored as anchored_config

    return replace(plan, arms=tuple(replace(arm, config=anchored_config(arm.config)) for arm in plan.arms))


def timed(plan: Plan, minutes: float) -> Plan:
    """The plan with a time budget for every run."""
    arms = tuple(replace(arm, config=override(arm.config, {"train.minutes": minutes})) for arm in plan.arms)
    return replace(plan, arms=arms, settings={**plan.settings, "train.minutes": str(minutes)})


def write_plan(plan: Plan, out: Path, tune: Request | None = None) -> None:
    """plan.json, by which the page knows the folder before the table is there."""
    with atomic.explained(out):
        out.mkdir(parents=True, exist_ok=True)
    atomic.write_text(out / "plan.json", json.dumps(_plan_record(plan, tune), indent=1) + "\n")


def _plan_record(plan: Plan, tune: Request | None = None) -> dict[str, Any]:
    arms = [
        {"name": arm.name, "base": arm.base, "preset": arm.preset, "config_digest": identity(arm.config)}
        for arm in plan.arms
    ]
    tuned = {} if tune is None else {"tune": tune.record()}
    about = {
        "kind": plan.kind,
        "name": plan.name,
        "title": plan.title,
        "scale": plan.scale,
        "seeds": list(plan.seeds),
    }
    return {**about, **tuned, "arms": arms}
