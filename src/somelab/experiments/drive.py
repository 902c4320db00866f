"""The loop around an executor: starts jobs while there is room, tells of those that end, and stops all of them cleanly.
A failed job is one line; the rest runs. Ctrl-C and a deadline let every job finish its step and save."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from somelab.errors import ConfigError
from somelab.experiments.estimate import Size, size_of
from somelab.experiments.figures import summary
from somelab.experiments.job import JobOutcome, State, state_of
from somelab.experiments.plan import Job
from somelab.experiments.progress import Eta, progress_view

ExecutorName = Literal["local", "ray"]
PAUSE = 0.1


class Executor(Protocol):
    """Where jobs run."""

    @property
    def running(self) -> list[Job]: ...

    def start(self, job: Job) -> None: ...

    def ended(self) -> list[JobOutcome]: ...

    def stop(self) -> None:
        """Ask all that runs to save and end, and wait for it."""

    def close(self) -> None:
        """Give back what the executor itself holds."""


@dataclass(frozen=True)
class Prepared:
    """A job that has been looked at: its data are in the cache, its size is known, and so is where it stands."""

    job: Job
    state: State
    size: Size


def prepared_jobs(jobs: Sequence[Job], report: Callable[[str, int], None] | None = None) -> list[Prepared]:
    """Prepare the data of all jobs once, before any of them runs, and see which are finished.

    What cannot work is refused here: a setting that does not fit the data, a folder that holds another run."""
    from somelab.data.batches import Loader
    from somelab.data.prepare import PreparedData, prepare
    from somelab.train.budget import Budget

    data: dict[tuple[str, int], PreparedData] = {}
    sizes: dict[str, Size] = {}
    looked_at: list[Prepared] = []
    for job in jobs:
        key = job.config.data.model_dump_json(exclude={"layout", "padding_in_loss"}), job.config.model.vocab_size
        if key not in data:
            data[key] = prepare(job.config, progress=report)
        if job.arm not in sizes:
            batches = Loader(data[key], job.config).num_batches_per_epoch
            sizes[job.arm] = size_of(job, Budget.of(job.config.train, batches).steps or 0)
        looked_at.append(Prepared(job, state_of(job, data[key].digest), sizes[job.arm]))
    return looked_at


def room(num_workers: int | None) -> tuple[int, int]:
    """Processes, and threads of each. Without a wish: one process a core, since threads that wait for each other are slow.

    OMP_NUM_THREADS, where it is set, is the most that a process gets."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if num_workers is None:
        return cores, 1
    if num_workers < 1:
        raise ConfigError("workers", num_workers, "is less than 1", f"give 1 or more; this machine has {cores} cores")
    given = os.environ.get("OMP_NUM_THREADS", "")
    most = int(given) if given.isdecimal() and int(given) else cores
    return num_workers, max(1, min(most, cores // num_workers))


def executor_of(name: ExecutorName, num_workers: int, num_threads: int) -> Executor:
    if name == "ray":
        from somelab.experiments.cluster import RayExecutor

        return RayExecutor(num_threads, num_workers)
    from somelab.experiments.local import LocalExecutor

    return LocalExecutor(num_threads)


@dataclass(frozen=True)
class Driven:
    """What came of a number of jobs."""

    outcomes: list[JobOutcome]
    """Of those that ran in this call, in the order in which they ended."""
    interrupted: bool

    @property
    def failed(self) -> list[JobOutcome]:
        return [outcome for outcome in self.outcomes if outcome.status == "failed"]


def drive(looked_at: Sequence[Prepared], executor: Executor, num_workers: int, seconds: float | None = None) -> Driven:
    """Run what is not finished, in this order. `seconds`: stop after so long."""
    waiting = deque(one.job for one in looked_at if one.state != "finished")
    jobs = {one.job.key: one.job for one in looked_at}
    eta = Eta({one.job.key: one.size for one in looked_at if one.state != "finished"})
    deadline = None if seconds is None else time.monotonic() + seconds
    outcomes: list[JobOutcome] = []
    interrupted = False
    with progress_view(len(looked_at), len(looked_at) - len(waiting), eta) as view:

        def collect() -> None:
            for outcome in executor.ended():
                outcomes.append(outcome)
                view.end(outcome, summary(jobs[outcome.arm, outcome.seed].folder), executor.running)

        try:
            while waiting or executor.running:
                while waiting and len(executor.running) < num_workers:
                    job = waiting.popleft()
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
