"""The loop around an executor: starts jobs while workers are free, reports those that end, and stops all of
them cleanly. A failed job is one line; the rest runs. Ctrl-C and a deadline let every job finish its step and
save."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from somelab.errors import ConfigError
from somelab.experiments.runner.estimate import Size, size_of
from somelab.experiments.runner.job import JobOutcome, is_busy, state_of, task_of
from somelab.experiments.runner.plan import Job
from somelab.experiments.runner.progress import Eta, PlainProgress, progress_view
from somelab.experiments.runner.task import State

if TYPE_CHECKING:
    from somelab.data.prepare import PreparedData

ExecutorName = Literal["local", "ray", "slurm"]
PAUSE = 0.1
SECONDS_BETWEEN_LOOKS = 2.0
"""At a job that another process is at."""
MOST_WORKERS = 1024


class Executor(Protocol):
    """Where jobs run."""

    @property
    def running(self) -> list[Job]: ...

    def start(self, job: Job) -> None: ...

    def ended(self) -> list[JobOutcome]: ...

    def stop(self) -> None:
        """Request all running jobs to save and end, and wait for them."""

    def close(self) -> None:
        """Release the executor's resources."""


@dataclass(frozen=True)
class Prepared:
    """A checked job: its data are in the cache, its size and state are known."""

    job: Job
    state: State
    size: Size


class Preparer:
    """Prepares the data of jobs before any of them runs, each text once, and sees which jobs are finished.

    Bad jobs raise here: a setting that does not fit the data, a folder that holds another run."""

    def __init__(self, report: Callable[[str, int], None] | None = None) -> None:
        self.report = report
        self._data: dict[tuple[str, int], PreparedData] = {}
        self._sizes: dict[tuple[str, int | None], Size] = {}

    def data(self, job: Job) -> PreparedData:
        from somelab.data.prepare import prepare

        key = (
            job.config.data.model_dump_json(exclude={"layout", "padding_in_loss"}),
            job.config.model.vocab_size,
        )
        if key not in self._data:
            self._data[key] = prepare(job.config, progress=self.report)
        return self._data[key]

    def prepared(self, jobs: Sequence[Job]) -> list[Prepared]:
        return [Prepared(job, state_of(job, self.data(job).digest), self._size(job)) for job in jobs]

    def _size(self, job: Job) -> Size:
        from somelab.data.batches import Loader

        key = job.arm, job.pause_at
        if key not in self._sizes:
            batches = Loader(self.data(job), job.config).num_batches_per_epoch
            self._sizes[key] = size_of(job, task_of(job).num_steps(job, batches))
        return self._sizes[key]


def processes_and_threads(num_workers: int | None) -> tuple[int, int]:
    """The number of processes, and of threads of each. By default one process per core, since threads that
    wait for each other are slow. OMP_NUM_THREADS, if set, is an upper bound."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if num_workers is None:
        return cores, 1
    if num_workers < 1:
        raise ConfigError(
            "workers", num_workers, "is less than 1", f"give 1 or more; this machine has {cores} cores"
        )
    if num_workers > MOST_WORKERS:
        raise ConfigError(
            "workers", num_workers, f"is more than {MOST_WORKERS:,}", f"this machine has {cores} cores"
        )
    given = os.environ.get("OMP_NUM_THREADS", "")
    most = int(given) if given.isdecimal() and int(given) else cores
    return num_workers, max(1, min(most, cores // num_workers))


def executor_of(name: ExecutorName, num_workers: int, num_threads: int) -> Executor:
    if name == "ray":
        from somelab.experiments.runner.cluster import RayExecutor

        return RayExecutor(num_threads, num_workers)
    if name == "slurm":
        from somelab.experiments.runner.slurm import SlurmExecutor

        return SlurmExecutor(num_threads)
    from somelab.experiments.runner.local import LocalExecutor

    return LocalExecutor(num_threads)


@dataclass(frozen=True)
class Driven:
    """The outcomes of several jobs."""

    outcomes: list[JobOutcome]
    """Of those that ran in this call, in the order in which they ended."""
    interrupted: bool

    @property
    def failed(self) -> list[JobOutcome]:
        return [outcome for outcome in self.outcomes if outcome.status == "failed"]


class _Elsewhere:
    """The jobs that other processes are at, looked at again every few seconds."""

    def __init__(self, view: PlainProgress) -> None:
        self._view = view
        self._looked: dict[tuple[str, int], float] = {}
        self._told: set[tuple[str, int]] = set()

    def note(self, job: Job) -> None:
        self._looked[job.key] = time.monotonic()
        if job.key not in self._told:
            self._told.add(job.key)
            self._view.wait(job)

    def forget(self, job: Job) -> bool:
        """Whether another process was at it until now."""
        return self._looked.pop(job.key, None) is not None

    def first_free(self, jobs: Iterable[Job]) -> Job | None:
        """The first job that no process is at."""
        for job in jobs:
            looked = self._looked.get(job.key)
            if looked is not None and time.monotonic() - looked < SECONDS_BETWEEN_LOOKS:
                continue
            if not is_busy(job):
                return job
            self.note(job)
        return None


def drive(
    looked_at: Sequence[Prepared],
    executor: Executor,
    num_workers: int,
    seconds: float | None = None,
    following: Callable[[], Sequence[Prepared]] | None = None,
) -> Driven:
    """Run what is not finished, in this order. `seconds`: stop after so long.

    `following`: called after every job that ends; returns all jobs left to run, most urgent first, so that a
    search can use the results. It may include running jobs; a waiting job that it no longer includes is
    dropped.

    Jobs that another process is at are waited for."""
    waiting = deque(one.job for one in looked_at if one.state != "finished")
    jobs = {one.job.key: one.job for one in looked_at}
    eta = Eta({one.job.key: one.size for one in looked_at if one.state != "finished"})
    deadline = None if seconds is None else time.monotonic() + seconds
    outcomes: list[JobOutcome] = []
    interrupted = False
    with progress_view(len(looked_at), len(looked_at) - len(waiting), eta) as view:
        elsewhere = _Elsewhere(view)

        def collect() -> None:
            for outcome in executor.ended():
                job = jobs[outcome.arm, outcome.seed]
                if outcome.status == "busy":
                    elsewhere.note(job)
                    waiting.append(job)
                    continue
                outcomes.append(outcome)
                view.end(outcome, task_of(job).summary(job), executor.running)
                ask()

        def ask() -> None:
            if following is None:
                return
            # Failed jobs are tried again by the next call, not by this one, which might never end.
            failed = {(outcome.arm, outcome.seed) for outcome in outcomes if outcome.status == "failed"}
            left_alone = failed | {job.key for job in executor.running}
            left = [one for one in following() if one.state != "finished" and one.job.key not in left_alone]
            before = {job.key for job in waiting}
            waiting.clear()
            waiting.extend(one.job for one in left)
            jobs.update({one.job.key: one.job for one in left})
            view.add({one.job.key: one.size for one in left if one.job.key not in before})

        try:
            while waiting or executor.running:
                while len(executor.running) < num_workers and (job := elsewhere.first_free(waiting)):
                    if elsewhere.forget(job) and following is not None:
                        ask()  # what the other process has found may make this job needless
                        continue
                    waiting.remove(job)
                    view.begin(job)
                    executor.start(job)
                collect()
                view.tick(executor.running)
                if deadline is not None and time.monotonic() > deadline:
                    interrupted = True
                    break
                time.sleep(PAUSE)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            if executor.running:
                executor.stop()
                collect()
            executor.close()
    return Driven(outcomes, interrupted)
