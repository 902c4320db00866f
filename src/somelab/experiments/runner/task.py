"""What a job does. Most train a run; another kind of experiment has a task of its own, and shares the plan,
the processes, resuming and the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from somelab.experiments.runner.plan import Job

Status = Literal["finished", "paused", "interrupted", "failed", "busy"]
"""paused: the run has reached the step at which its job pauses. busy: another process is at it."""
State = Literal["new", "begun", "trained", "finished"]
"""trained: to its end, with probes that are still to be measured."""


class Task(Protocol):
    """The work of a job. A task is sent to another process, so it holds plain values."""

    def state(self, job: Job, data_digest: str | None) -> State:
        """The state of the job's folder. Raises for a folder of another experiment.

        `data_digest`: of the data as they are now; None: not checked."""
        ...

    def perform(self, job: Job, num_threads: int) -> Status:
        """Do the work, or continue it. An error of the work is raised."""
        ...

    def num_steps(self, job: Job, batches_per_epoch: int) -> int:
        """Optimizer steps of the whole work, for estimates of time; 0 for a time budget."""
        ...

    def summary(self, job: Job) -> str:
        """The result in a few words; empty before there is one."""
        ...

    def figures(self, job: Job) -> dict[str, float]:
        """What was measured, by name, for the table; empty before the end."""
        ...
