"""The loop around an executor: what runs, in which order, and how a search changes what is left to run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from somelab.config import Config
from somelab.experiments.runner.drive import Prepared, drive
from somelab.experiments.runner.estimate import Size
from somelab.experiments.runner.job import JobOutcome
from somelab.experiments.runner.plan import Job
from somelab.experiments.runner.task import Status

CONFIG = Config()


def job(name: str) -> Job:
    return Job(name, 0, CONFIG, Path("nowhere") / name / "seed-0")


def prepared(*names: str, finished: Sequence[str] = ()) -> list[Prepared]:
    return [Prepared(job(name), "finished" if name in finished else "new", Size(1, 1.0)) for name in names]


class AtOnce:
    """Ends every job as soon as it is asked; some of them fail."""

    def __init__(self, failing: Sequence[str] = ()) -> None:
        self.failing, self.started, self.running = set(failing), list[str](), list[Job]()

    def start(self, job: Job) -> None:
        self.started.append(job.arm)
        self.running.append(job)

    def ended(self) -> list[JobOutcome]:
        ways: dict[bool, Status] = {True: "failed", False: "finished"}
        outcomes = [JobOutcome(one.arm, one.seed, ways[one.arm in self.failing]) for one in self.running]
        self.running.clear()
        return outcomes

    def stop(self) -> None: ...

    def close(self) -> None: ...


def test_what_is_finished_is_passed_over() -> None:
    executor = AtOnce()
    driven = drive(prepared("a", "b", "c", finished=["b"]), executor, 1)
    assert executor.started == ["a", "c"]
    assert not driven.interrupted
    assert not driven.failed


def test_a_search_adds_reorders_and_drops_what_waits() -> None:
    executor = AtOnce()
    # After a, the search wants d first and c no more; after d nothing but b.
    answers = iter([prepared("d", "b"), prepared("b"), [], []])
    drive(prepared("a", "b", "c"), executor, 1, following=lambda: next(answers))
    assert executor.started == ["a", "d", "b"]


def test_a_run_that_failed_is_left_to_the_next_call() -> None:
    executor = AtOnce(failing=["a"])
    driven = drive(
        prepared("a"), executor, 1, following=lambda: prepared("a", "b") if len(executor.started) < 3 else []
    )
    assert executor.started[:2] == ["a", "b"]
    assert executor.started.count("a") == 1
    assert [outcome.arm for outcome in driven.failed] == ["a"]
