"""The executor for Slurm: each job is a job of the cluster, submitted by submitit. Where there is no Slurm,
submitit runs them as processes of this machine. It is an extra: `pip install somelab[slurm]`.

The folder of a sweep and its data must be on a file system that all machines share."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from somelab.disk.built_once import VARIABLE, cache_root
from somelab.errors import SomelabError
from somelab.experiments.runner.job import JobOutcome, killed, run_job
from somelab.experiments.runner.plan import Job

SECONDS_TO_SAVE = 120.0
MINUTES = 24 * 60
"""Limit of a job, unless SBATCH_TIMELIMIT gives another: sbatch takes its SBATCH_ variables before ours."""
PAUSE = 0.2


class SlurmExecutor:
    """Submits jobs; the caller decides how many at once. Scripts and output of the cluster go to
    `.submitit` in the folder above a job's own."""

    def __init__(self, num_threads: int) -> None:
        try:
            import submitit  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
        except ImportError:
            raise SomelabError(
                "--executor slurm: submitit is not installed; install somelab[slurm], or use --executor local"
            ) from None
        self._submitit: Any = submitit
        self.num_threads = num_threads
        self._waiting: dict[tuple[str, int], tuple[Job, Any]] = {}
        self._stopping = False

    @property
    def running(self) -> list[Job]:
        return [job for job, _ in self._waiting.values()]

    def start(self, job: Job) -> None:
        # Which cluster there is, submitit finds out: Slurm where sbatch is, else this machine.
        executor = self._submitit.AutoExecutor(folder=str(_folder(job)))
        executor.update_parameters(name=job.label, timeout_min=MINUTES, cpus_per_task=self.num_threads)
        environment = {VARIABLE: str(cache_root())}
        self._waiting[job.key] = job, executor.submit(_task, job, self.num_threads, environment)

    def ended(self) -> list[JobOutcome]:
        outcomes: list[JobOutcome] = []
        for job, handle in list(self._waiting.values()):
            if handle.done():
                del self._waiting[job.key]
                outcomes.append(self._outcome(job, handle))
        return outcomes

    def stop(self) -> None:
        """Cancel all: training finishes its step and saves. Wait for them."""
        self._stopping = True
        for _, handle in self._waiting.values():
            handle.cancel(check=False)
        deadline = time.monotonic() + SECONDS_TO_SAVE
        while time.monotonic() < deadline and not all(handle.done() for _, handle in self._waiting.values()):
            time.sleep(PAUSE)

    def close(self) -> None:
        """Nothing is held: the cluster ends its jobs by itself."""

    def _outcome(self, job: Job, handle: Any) -> JobOutcome:
        try:
            return handle.result()
        except Exception as error:  # the job was cancelled, or its machine is gone
            if self._stopping:
                return killed(job, "interrupted", "")
            return killed(job, "failed", " ".join(f"{type(error).__name__}: {error}".split())[:200])


def _folder(job: Job) -> Path:
    return Path(job.log).parent.parent / ".submitit"


def _task(job: Job, num_threads: int, environment: dict[str, str]) -> JobOutcome:
    os.environ.update(environment)
    return run_job(job, num_threads)
