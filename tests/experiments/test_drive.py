"""The loop around an executor: what runs, in which order, and how a search changes what is left to run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from somelab.config import Config
from somelab.disk import locks
from somelab.experiments.runner.drive import Prepared, drive
from somelab.experiments.runner.estimate import Size
from somelab.experiments.runner.job import JobOutcome, is_busy, read_outcome, run_job
from somelab.experiments.runner.plan import Job
from somelab.experiments.runner.task import Status
from somelab.runs import RunFolder
from tests.training.builders import config_of, state_of

CONFIG = Config()


def job_of(name: str) -> Job:
    return Job(name, 0, CONFIG, Path("nowhere") / name / "seed-0")


def prepared(*names: str, finished: Sequence[str] = ()) -> list[Prepared]:
    return [Prepared(job_of(name), "finished" if name in finished else "new", Size(1, 1.0)) for name in names]


class AtOnce:
    """Ends every job as soon as it is asked; some of them fail."""

    def __init__(self, failing: Sequence[str] = (), busy: Sequence[str] = ()) -> None:
        self.busy = set(busy)
        self.failing, self.started, self.running = set(failing), list[str](), list[Job]()

    def start(self, job: Job) -> None:
        self.started.append(job.arm)
        self.running.append(job)

    def ended(self) -> list[JobOutcome]:
        outcomes = [JobOutcome(one.arm, one.seed, self._status(one.arm)) for one in self.running]
        self.running.clear()
        return outcomes

    def _status(self, arm: str) -> Status:
        return "failed" if arm in self.failing else "busy" if arm in self.busy else "finished"

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


def test_what_another_process_is_at_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("somelab.experiments.runner.drive.SECONDS_BETWEEN_LOOKS", 0.2)
    looked = [
        Prepared(Job(name, 0, CONFIG, tmp_path / name / "seed-0"), "new", Size(1, 1.0)) for name in "ab"
    ]
    lock = looked[0].job.lock
    lock.parent.mkdir()
    executor = AtOnce()
    with ExitStack() as elsewhere:
        elsewhere.enter_context(locks.exclusive(lock, inside=lock.parent))
        threading.Timer(1.0, elsewhere.pop_all().close).start()
        driven = drive(looked, executor, 1)
    assert executor.started == ["b", "a"]
    assert not driven.failed
    assert capsys.readouterr().err.count("a seed 0: another process is at it") == 1


def test_what_another_process_has_made_needless_is_not_started(tmp_path: Path) -> None:
    looked = Prepared(Job("a", 0, CONFIG, tmp_path / "seed-0"), "begun", Size(1, 1.0))
    executor = AtOnce(busy=["a"])
    asked: list[str] = []
    driven = drive([looked], executor, 1, following=lambda: asked.append("asked") or [])
    assert executor.started == ["a"]
    assert asked == ["asked"]
    assert driven.outcomes == []


def test_a_job_of_another_process_is_neither_done_nor_marked_as_failed(tmp_path: Path, text: Path) -> None:
    job = Job("a", 0, config_of(text), tmp_path / "a" / "seed-0")
    job.folder.parent.mkdir()
    with locks.exclusive(job.lock, inside=job.lock.parent):
        assert run_job(job, 1).status == "busy"
    assert not job.folder.exists()
    assert read_outcome(job) is None
    assert run_job(replace(job, pause_at=4), 1).status == "paused"
    before = read_outcome(job)
    with RunFolder(job.folder).locked():  # by hand: `somelab resume`
        assert is_busy(job)
        assert run_job(job, 1).status == "busy"
    assert read_outcome(job) == before
    assert run_job(replace(job, pause_at=4), 1).status == "paused"
    assert state_of(job.folder)["state"]["step"] == 4  # not a step further
    done = run_job(job, 1)
    assert done.status == "finished"
    assert run_job(job, 1) == done  # what another process took is left as it is


def test_a_run_that_failed_is_left_to_the_next_call() -> None:
    executor = AtOnce(failing=["a"])
    driven = drive(
        prepared("a"), executor, 1, following=lambda: prepared("a", "b") if len(executor.started) < 3 else []
    )
    assert executor.started[:2] == ["a", "b"]
    assert executor.started.count("a") == 1
    assert [outcome.arm for outcome in driven.failed] == ["a"]
