"""One arm's search over run folders: which jobs it needs next, and the curve as it stands.

Tuning runs are validated on other text (`data.purpose = tune`) and use another random seed than the
comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from somelab.config import Config, override
from somelab.errors import ConfigError
from somelab.experiments.runner.job import JobOutcome, read_outcome, state_of, write_outcome
from somelab.experiments.runner.plan import Job, identity
from somelab.experiments.runner.task import Task
from somelab.experiments.tuning.curve import Curve
from somelab.experiments.tuning.halving import Halving
from somelab.experiments.tuning.method import Method
from somelab.experiments.tuning.search import Search, Trial, first_values, quarter
from somelab.experiments.tuning.value import Value, folder_name
from somelab.runs import RunFolder

SEED = 1000
"""Random seed of tuning runs. Those of the comparison are below."""
DIVERGED = "training diverged"


def check_judging(seeds: tuple[int, ...]) -> None:
    """Raise for random seeds that tuning uses."""
    if any(seed >= SEED for seed in seeds):
        raise ConfigError(
            "seeds", max(seeds), f"seeds from {SEED} on are for tuning", f"choose seeds below {SEED}"
        )


class Tuner:
    """The search for one setting of one arm."""

    def __init__(
        self,
        arm: str,
        config: Config,
        folder: Path,
        *,
        setting: str = "train.learning_rate",
        anchor: Value,
        first: tuple[int, ...] = (),
        start: int | None = None,
        fine: bool = False,
        limits: tuple[int, int] | None = None,
        values: tuple[Value, ...] = (),
        seed: int = SEED,
        num_repeats: int = 0,
        scale: str = "full",
        preset: str | None = None,
        known: Mapping[str, Callable[[Method], dict[int, Trial]]] | None = None,
        task: Task | None = None,
        measure: str = "val_loss",
    ) -> None:
        """`folder`: where the runs of all values go, one below another. `known`: trials that are on record,
        by digest.

        `anchor`: the value of the setting in the digest, and index 0 of the grid. `values`: search these
        alone, in place of a grid from the indices `first`, or around the guess `start`, which `limits` bound.
        `num_repeats`: with how many
        further seeds the best value and the one below it are trained, before the mean over seeds chooses.

        `task`: what the runs do, in place of training; it is not paused, and `measure` names the figure that
        chooses."""
        steps = config.train.steps
        if steps is None:
            remedy = "set train.steps in place of train.epochs or train.minutes"
            raise ConfigError("train.steps", None, "a search compares runs of equal length in steps", remedy)
        self.arm, self.setting, self.folder, self.seed = arm, setting, folder, seed
        self.repeat_seeds = tuple(range(seed + 1, seed + 1 + num_repeats))
        self.scale, self.preset, self.task, self.measure = scale, preset, task, measure
        first = first if start is None else first_values(start, fine=fine)
        grid = Search(anchor, first, steps, fine, limits, start)
        self.search: Method = Halving(values, steps) if values else grid
        tuning = {"data.purpose": "tune", "train.seed": seed, "train.eval_every": quarter(steps)}
        self.config = override(config, tuning)
        # The value does not count: one search has many, and one digest.
        self.digest = identity(override(self.config, {setting: anchor}))
        recorded = (known or {}).get(self.digest)
        self.recorded = {} if recorded is None else recorded(self.search)
        self._ended: dict[tuple[int, int], Trial] = {}

    def job(self, index: int, pause_at: int | None = None, seed: int | None = None) -> Job:
        """The run of one value. `seed`: of a repeat; None: the search's own."""
        value, seed = self.search.value(index), self.seed if seed is None else seed
        name = folder_name(value)
        folder = self.folder / f"{self.arm}-{self.digest[:8]}" / name / f"seed-{seed}"
        config = override(self.config, {self.setting: value, "train.seed": seed})
        return Job(
            f"{self.arm}@{name}",
            seed,
            config,
            folder,
            (),
            self.preset,
            self.scale,
            pause_at=pause_at if self.task is None else None,
            task=self.task,
        )

    def begun(self) -> dict[int, Job]:
        """The runs of this search that have a folder, by index."""
        found: dict[int, Job] = {}
        for path in sorted((self.folder / f"{self.arm}-{self.digest[:8]}").glob("*")):
            index = self.search.index_of_folder(path.name)
            if index is not None and path.is_dir():
                found[index] = self.job(index)
        return found

    def _begun_with_repeats(self) -> list[Job]:
        seeds = (self.seed, *self.repeat_seeds)
        return [self.job(index, seed=seed) for index in self.begun() for seed in seeds]

    def outcomes(self) -> list[JobOutcome]:
        """How the runs of this search ended, as far as they did."""
        return [one for job in self._begun_with_repeats() if (one := read_outcome(job)) is not None]

    def forgive_(self) -> None:
        """Clear failures that are not due to the value, so that this call tries them again."""
        for job in self._begun_with_repeats():
            outcome = read_outcome(job)
            if outcome is not None and outcome.status == "failed" and not is_divergence(outcome):
                write_outcome(job, replace(outcome, status="interrupted", reason=""))

    def curve(self) -> Curve:
        """The search as the run folders and the record have it."""
        trials, broken = dict(self.recorded), ""
        for index, job in self.begun().items():
            if index in trials and trials[index].ended:
                continue
            trial, problem = self._trial_of(job, index)
            broken = broken or problem
            if trial is not None:
                trials[index] = trial
        for index, trial in list(trials.items()):
            repeats, problem = self._repeats(index)
            broken = broken or problem
            trials[index] = replace(trial, repeats={**trial.repeats, **repeats})
        return Curve(
            self.arm, self.setting, self.search, trials, self.seed, self.digest, broken, self.repeat_seeds
        )

    def _repeats(self, index: int) -> tuple[dict[int, float], str]:
        """The final losses of one value with further seeds, and why one has none where it failed for another
        reason."""
        found: dict[int, float] = {}
        for seed in self.repeat_seeds:
            trial, problem = self._trial_of(self.job(index, seed=seed), index)
            if problem:
                return found, problem
            if trial is not None and trial.ended:
                found[seed] = trial.final
        return found, ""

    def _trial_of(self, job: Job, index: int) -> tuple[Trial | None, str]:
        """As `_trial`. Runs that have ended are read once: a search is looked at after every run of all."""
        key = index, job.seed
        if key in self._ended:
            return self._ended[key], ""
        trial, problem = _trial(job, self.search.value(index), self.measure)
        if trial is not None and trial.ended and not trial.failed:
            self._ended[key] = trial
        return trial, problem

    def jobs(self, curve: Curve | None = None) -> list[Job]:
        """What to train next; empty when the search is over or cannot continue. `curve`: the search as it is
        now, where that has just been read."""
        curve = self.curve() if curve is None else curve
        if curve.broken:
            return []
        wanted = self.search.wanted(curve.trials).items()
        jobs = [self.job(index, None if step >= self.search.num_steps else step) for index, step in wanted]
        return jobs or [self.job(index, seed=seed) for index, seed in curve.missing_repeats]


def is_divergence(outcome: JobOutcome) -> bool:
    """Whether a run failed because of its value: its loss exploded or was not finite."""
    return outcome.status == "failed" and outcome.reason.startswith(DIVERGED)


def _trial(job: Job, value: Value, measure: str) -> tuple[Trial | None, str]:
    """The trial of a run folder, or the reason of a failure that is not due to its value."""
    outcome = read_outcome(job)
    if outcome is not None and outcome.status == "failed" and not is_divergence(outcome):
        # Without the folder: the reason goes into the record of the package.
        return None, f"{job.arm}: {outcome.reason.replace(f'run {job.folder}: ', '')}"
    if job.task is not None:
        return _task_trial(job, value, measure, outcome), ""
    if not (job.folder / "run.json").exists():
        return None, ""
    run = RunFolder(job.folder)
    records = [record for record in run.records("metrics") if record["kind"] in ("evaluation", "final")]
    losses = {
        int(record["step"]): float(record["val_loss"]) for record in records if record["val_loss"] is not None
    }
    trial = Trial(value, losses)
    if outcome is not None and is_divergence(outcome):
        return replace(trial, ended=True, failed=outcome.reason.partition(";")[0]), ""
    if state_of(job) not in ("trained", "finished"):
        return trial, ""
    assert job.config.train.steps is not None
    failed = "" if job.config.train.steps in losses else f"{DIVERGED}: its last loss is not a number"
    return replace(trial, ended=True, failed=failed), ""


def _task_trial(job: Job, value: Value, measure: str, outcome: JobOutcome | None) -> Trial | None:
    """The trial of a task, which ends whole or not at all."""
    steps = job.config.train.steps
    assert job.task is not None
    assert steps is not None
    if outcome is not None and is_divergence(outcome):
        return Trial(value, ended=True, failed=outcome.reason.partition(";")[0])
    loss = job.task.figures(job).get(measure)
    return None if loss is None else Trial(value, {steps: loss}, ended=True)
