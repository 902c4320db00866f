"""The searches of a sweep: one for every arm of its plan, and the judged runs at the chosen values.

OUT/tuning/plain-1f2e3d4c/0.0006/seed-1000   a tuning run; the digits name what is common to all values
OUT/plain/seed-0                             a judged run, as in every sweep"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from somelab.config import override
from somelab.config.fields import value_of
from somelab.errors import SomelabError
from somelab.experiments.runner.job import JobOutcome
from somelab.experiments.runner.plan import Arm, Job, Plan
from somelab.experiments.tuning.curve import Curve
from somelab.experiments.tuning.request import Request
from somelab.runs import RunFolder

FOLDER = "tuning"


class ArmSearches:
    """The searches of all arms of a plan in the folder of a sweep."""

    def __init__(self, plan: Plan, request: Request, out: Path) -> None:
        request.check(plan)
        self.untuned_plan, self.request, self.out = plan, request, out
        self.tuners = {arm.name: request.tuner(arm, out / FOLDER, plan.scale) for arm in plan.arms}
        self._check_folder()
        for tuner in self.tuners.values():
            tuner.forgive_()
        self.look()

    def look(self) -> None:
        """Read from the run folders how far every search is."""
        self.curves: dict[str, Curve] = {name: tuner.curve() for name, tuner in self.tuners.items()}

    @property
    def plan(self) -> Plan:
        """The plan with the chosen value in every arm whose search is over."""
        return replace(
            self.untuned_plan, arms=tuple(self._with_choice(arm) for arm in self.untuned_plan.arms)
        )

    def _with_choice(self, arm: Arm) -> Arm:
        curve = self.curves[arm.name]
        if not curve.is_over:
            return arm
        return replace(arm, config=override(arm.config, {self.request.setting: curve.best}))

    def jobs(self) -> list[Job]:
        """What can be run now, finished runs included: the searches first, since judged runs wait for them,
        then the judged runs of arms whose search is over."""
        searching = [job for tuner in self.tuners.values() for job in tuner.jobs()]
        judged = [job for job in self.plan.jobs(self.out) if self.curves[job.arm].is_over]
        return [*searching, *judged]

    def judged_as_found(self) -> list[Job]:
        """All judged runs, each with the tuned value that is in its folder, else with the arm's own.

        So whatever else is wrong with them shows before any search begins."""
        return [self._as_found(job) for job in self.untuned_plan.jobs(self.out)]

    def _as_found(self, job: Job) -> Job:
        if not (job.folder / "run.json").exists():
            return job
        found = value_of(RunFolder(job.folder).config(), self.request.setting)
        return replace(job, config=override(job.config, {self.request.setting: found}))

    def outcomes(self) -> list[JobOutcome]:
        """How the tuning runs ended."""
        return [outcome for tuner in self.tuners.values() for outcome in tuner.outcomes()]

    def _check_folder(self) -> None:
        """Refuse a folder whose judged runs were tuned in another way: other values could be chosen now."""
        if not any((job.folder / "run.json").exists() for job in self.untuned_plan.jobs(self.out)):
            return
        before = _tuned_before(self.out)
        if before != self.request.record():
            way = "without --tune" if before is None else f"with {before.get('setting')} tuned in another way"
            remedy = "give another folder with --out, or the same --tune as before"
            raise SomelabError(f"{self.out}: holds runs of a sweep {way}; {remedy}")


def _tuned_before(out: Path) -> dict[str, Any] | None:
    """What an earlier call of the sweep tuned, by its plan.json."""
    try:
        return json.loads((out / "plan.json").read_text(encoding="utf-8")).get("tune")
    except (OSError, ValueError, AttributeError):
        return None
