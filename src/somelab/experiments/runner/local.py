"""The default executor: every job in a process of its own on this machine. A stop lets them finish their step
and save.

Processes are forked from a server that has imported torch once; where forking is unsafe they are spawned."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess

from somelab.disk.built_once import VARIABLE, cache_root
from somelab.experiments.runner.job import JobOutcome, killed, read_outcome, run_job
from somelab.experiments.runner.plan import Job

SECONDS_TO_SAVE = 120.0
BUSY_CODE = 75
"""Exit code of a process that has left its job to another one."""


class LocalExecutor:
    """Runs jobs in parallel; the caller decides how many."""

    def __init__(self, num_threads: int) -> None:
        self.num_threads = num_threads
        self.context = _context()
        self._processes: dict[tuple[str, int], tuple[Job, BaseProcess]] = {}
        self._stopping = False

    @property
    def running(self) -> list[Job]:
        return [job for job, _ in self._processes.values()]

    def start(self, job: Job) -> None:
        environment = {VARIABLE: str(cache_root())}
        process = self.context.Process(
            target=_child, args=(job, self.num_threads, environment), name=job.label
        )
        process.start()
        self._processes[job.key] = job, process

    def ended(self) -> list[JobOutcome]:
        """The outcomes of jobs that have ended since the last call."""
        outcomes: list[JobOutcome] = []
        for job, process in list(self._processes.values()):
            if process.is_alive():
                continue
            process.join()
            del self._processes[job.key]
            outcomes.append(self._outcome(job, process.exitcode or 0))
        return outcomes

    def stop(self) -> None:
        """Request all to save and end, wait for them, and kill those that do not."""
        self._stopping = True
        processes = [process for _, process in self._processes.values()]
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + SECONDS_TO_SAVE
        try:
            for process in processes:
                process.join(max(0.0, deadline - time.monotonic()))
        finally:  # a second Ctrl-C comes through here
            for process in processes:
                process.kill()
                process.join()

    def close(self) -> None:
        """Nothing to release."""

    def _outcome(self, job: Job, code: int) -> JobOutcome:
        if code == 0:
            outcome = read_outcome(job)
            assert outcome is not None, "a job that ends normally writes its outcome"
            return outcome
        if code == BUSY_CODE:
            return JobOutcome(job.arm, job.seed, "busy")
        if self._stopping:
            return killed(job, "interrupted", "")
        return killed(
            job,
            "failed",
            f"its process was ended by signal {-code}" if code < 0 else f"its process ended with code {code}",
        )


def _context() -> ForkServerContext | SpawnContext:
    if not sys.platform.startswith("linux"):
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # The optimizer imports torch._dynamo at its first use, which takes as long as torch itself.
    context.set_forkserver_preload(
        ["torch._dynamo", "somelab.experiments.runner.job", "somelab.training.session"]
    )
    return context


def _child(job: Job, num_threads: int, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # Ctrl-C in a terminal goes to the group: only the parent handles it
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if run_job(job, num_threads).status == "busy":
        sys.exit(BUSY_CODE)


def _end_with_parent() -> None:
    """Save and end when the sweep's process is gone, so that its runs are not left locked.

    Not `os.getppid`: that is the server, which lives as long as any process that it has forked."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
