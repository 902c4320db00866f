"""The executor for many machines: the same job function as Ray tasks. Ray is an extra:
`pip install somelab[ray]`.

The folder of a sweep and its data must be on a file system that all machines share."""

from __future__ import annotations

import os
from typing import Any

from somelab.disk.built_once import VARIABLE, cache_root
from somelab.errors import SomelabError
from somelab.experiments.runner.job import JobOutcome, killed, run_job
from somelab.experiments.runner.plan import Job

SECONDS_TO_SAVE = 120.0


class RayExecutor:
    """Submits jobs to a Ray cluster: the one that RAY_ADDRESS names, else one that is started on this
    machine."""

    def __init__(self, num_threads: int, num_workers: int) -> None:
        try:
            import ray  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise SomelabError(
                "--executor ray: Ray is not installed; install somelab[ray], or use --executor local"
            ) from None
        self._ray: Any = ray
        self._owns = not ray.is_initialized()
        if self._owns:
            address = os.environ.get("RAY_ADDRESS")
            sizes = {} if address else {"num_cpus": num_threads * num_workers}
            ray.init(address=address, log_to_driver=False, include_dashboard=False, **sizes)
        # No retries by Ray: a failed arm is reported, and the next call of the sweep tries it again.
        self._task: Any = ray.remote(num_cpus=num_threads, max_retries=0)(_task)
        self._arguments = (num_threads, {VARIABLE: str(cache_root())})
        self._waiting: dict[Any, Job] = {}
        self._stopping = False

    @property
    def running(self) -> list[Job]:
        return list(self._waiting.values())

    def start(self, job: Job) -> None:
        self._waiting[self._task.remote(job, *self._arguments)] = job

    def ended(self) -> list[JobOutcome]:
        if not self._waiting:
            return []
        done, _ = self._ray.wait(list(self._waiting), num_returns=len(self._waiting), timeout=0)
        return [self._outcome(reference, self._waiting.pop(reference)) for reference in done]

    def stop(self) -> None:
        """Cancel all, which reaches a task as Ctrl-C would: its step is finished and saved. Wait for them."""
        self._stopping = True
        for reference in self._waiting:
            self._ray.cancel(reference)
        self._ray.wait(list(self._waiting), num_returns=len(self._waiting), timeout=SECONDS_TO_SAVE)

    def close(self) -> None:
        if self._owns:
            self._ray.shutdown()

    def _outcome(self, reference: Any, job: Job) -> JobOutcome:
        try:
            return self._ray.get(reference)
        except Exception as error:  # the task was cancelled, or its machine is gone
            if self._stopping:
                return killed(job, "interrupted", "")
            return killed(job, "failed", " ".join(f"{type(error).__name__}: {error}".split())[:200])


def _task(job: Job, num_threads: int, environment: dict[str, str]) -> JobOutcome:
    os.environ.update(environment)
    return run_job(job, num_threads)
