"""One arm with one random seed, from its present state to its end: the work of one process of an experiment.
A run is trained through the library's session, so that the result is an ordinary run folder."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
from collections.abc import Generator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from somelab.disk import atomic, locks
from somelab.errors import SomelabError
from somelab.experiments.runner.plan import Job, identity
from somelab.experiments.runner.task import State, Status, Task
from somelab.runs import RunFolder
from somelab.runs.folder import BusyRun


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended. The seconds are those of this and all earlier attempts."""

    arm: str
    seed: int
    status: Status
    reason: str = ""
    """One line, where it failed."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def task_of(job: Job) -> Task:
    """What a job does."""
    return job.task or TRAINING


def state_of(job: Job, data_digest: str | None = None) -> State:
    """The state of a job's folder. Raises for a run of another configuration or of other data.

    `data_digest`: of the data as they are now; None: not checked."""
    return task_of(job).state(job, data_digest)


_REMEDY = "give another folder with --out, or remove this one"


def _difference(run: RunFolder, job: Job) -> str:
    """The first setting that differs, for a message."""
    from somelab.config.fields import fields, value_of

    config = run.config()
    differing = (
        name
        for name in fields()
        if value_of(config, name) != value_of(job.config, name) and name != "data.source"
    )
    name = next(differing, "data.source")
    return f"{name} {value_of(config, name)}, now {value_of(job.config, name)}"


def is_busy(job: Job) -> bool:
    """Whether a process is at the job, or trains its run."""
    return locks.is_held(job.lock, inside=job.lock.parent) or RunFolder(job.folder).is_locked


def run_job(job: Job, num_threads: int) -> JobOutcome:
    """Do or continue the job's task, unless another process is at it. Never raises: an error becomes the
    outcome's reason."""
    try:
        with contextlib.ExitStack() as stack:
            with atomic.explained(job.lock):
                job.lock.parent.mkdir(parents=True, exist_ok=True)
                stack.enter_context(locks.exclusive(job.lock, inside=job.lock.parent))
            return _run_alone(job, num_threads)
    except (locks.Held, BusyRun):
        # Nothing is written: the outcome is that of the other process.
        return JobOutcome(job.arm, job.seed, "busy")


def _run_alone(job: Job, num_threads: int) -> JobOutcome:
    started, cpu = time.perf_counter(), time.process_time()
    before, task = read_outcome(job), task_of(job)
    with _logged(job.log):
        try:
            # Another process may have finished it since this one was told to do it.
            is_finished = task.state(job, None) == "finished"
            if is_finished and before is not None and before.status == "finished":
                return before
            status, reason = "finished" if is_finished else task.perform(job, num_threads), ""
        except BusyRun:
            raise
        except SomelabError as error:
            status, reason = "failed", " ".join(str(error).split())
            print(reason)
        except KeyboardInterrupt:
            status, reason = "interrupted", ""
        except Exception as error:  # the other arms continue; its log has the details
            status, reason = "failed", " ".join(f"{type(error).__name__}: {error}".split())
            traceback.print_exc()
    outcome = JobOutcome(
        job.arm,
        job.seed,
        status,
        reason,
        (before.seconds if before else 0.0) + time.perf_counter() - started,
        (before.cpu_seconds if before else 0.0) + time.process_time() - cpu,
    )
    write_outcome(job, outcome)
    return outcome


class Training:
    """Train a run, or continue it, then probe it."""

    def state(self, job: Job, data_digest: str | None) -> State:
        from somelab.runs import checkpoint

        run = RunFolder(job.folder)
        if not (run.path / "run.json").exists():
            return "new"
        config = run.config()
        if identity(config) != identity(job.config):
            raise SomelabError(
                f"{run.path}: is a run of another configuration ({_difference(run, job)}); {_REMEDY}"
            )
        if data_digest is not None and run.facts()["data"]["digest"] != data_digest:
            raise SomelabError(
                f"{run.path}: was trained on other data than {job.config.data.source}; {_REMEDY}"
            )
        if not checkpoint.is_any(run) or not checkpoint.read_state(run).finished:
            return "begun"
        from somelab.experiments.probes.probes import missing_probes

        return "trained" if missing_probes(run, job.probes) else "finished"

    def perform(self, job: Job, num_threads: int) -> Status:
        import torch

        from somelab.experiments.probes.probes import probe_
        from somelab.runs import checkpoint
        from somelab.training.machine.process import prepare_process
        from somelab.training.session import go_on, start

        prepare_process()
        torch.set_num_threads(num_threads)
        run, state = RunFolder(job.folder), self.state(job, None)
        done = checkpoint.read_state(run).step if state == "begun" and checkpoint.is_any(run) else 0
        if job.pause_at is not None and done >= job.pause_at:
            return "paused"
        if state in ("new", "begun"):
            facts = {
                "name": job.label,
                "preset": job.preset,
                "scale": job.scale,
                "arm": job.arm,
                "seed": job.seed,
            }
            run, trained = (
                start(job.config, job.folder, facts, pause_at=job.pause_at)
                if state == "new"
                else go_on(job.folder, pause_at=job.pause_at)
            )
            if trained.reason != "finished":
                return (
                    "paused"
                    if job.pause_at is not None and trained.state.step >= job.pause_at
                    else "interrupted"
                )
        probe_(run, job.probes, job.shift, job.reading)
        return "finished"

    def num_steps(self, job: Job, batches_per_epoch: int) -> int:
        from somelab.training.budget import Budget

        steps = Budget.of(job.config.train, batches_per_epoch).steps or 0
        return steps if job.pause_at is None else min(steps, job.pause_at)

    def summary(self, job: Job) -> str:
        from somelab.experiments.probes.figures import summary

        return summary(job.folder)

    def figures(self, job: Job) -> dict[str, float]:
        from somelab.experiments.probes.figures import figures_of

        return figures_of(RunFolder(job.folder)) if (job.folder / "run.json").exists() else {}


TRAINING = Training()


def read_outcome(job: Job) -> JobOutcome | None:
    """How the last attempt ended; None where there was none, or if a kill left nothing to read."""
    try:
        return JobOutcome(**json.loads(job.outcome.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_outcome(job: Job, outcome: JobOutcome) -> None:
    job.outcome.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(job.outcome, json.dumps(asdict(outcome), indent=1) + "\n")


def killed(job: Job, status: Status, reason: str) -> JobOutcome:
    """The outcome of a job whose process ended without one; the time of earlier attempts is kept."""
    before = read_outcome(job) or JobOutcome(job.arm, job.seed, status)
    outcome = replace(before, status=status, reason=reason)
    write_outcome(job, outcome)
    return outcome


@contextlib.contextmanager
def _logged(path: Path) -> Generator[None]:
    """Redirects all output to a file, that of C code included, and restores it afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [os.dup(number) for number in (1, 2)]
    streams = sys.stdout, sys.stderr
    with path.open("a", encoding="utf-8", buffering=1) as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        sys.stdout = sys.stderr = file
        try:
            yield
        finally:
            sys.stdout, sys.stderr = streams
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)
