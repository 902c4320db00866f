"""How long a sweep will still take, by hand: work done against time passed, what an earlier call did left
out."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from somelab.config import Config
from somelab.experiments.runner.estimate import (
    SECONDS_BESIDE,
    USUAL_SPEED,
    Size,
    measured_speed,
    seconds_of,
    share_done,
)
from somelab.experiments.runner.job import JobOutcome, write_outcome
from somelab.experiments.runner.plan import Job
from somelab.experiments.runner.progress import Eta, LiveProgress, PlainProgress


def job_of(tmp_path: Path, arm: str, step: int = 0) -> Job:
    folder = tmp_path / arm / "seed-0"
    folder.mkdir(parents=True)
    if step:
        lines = [json.dumps({"step": number, "seconds": 2.0 * number}) for number in range(1, step + 1)]
        (folder / "timing.jsonl").write_text("\n".join(lines) + '\n{"step": 9')
    return Job(arm, 0, Config(), folder)


SIZE = Size(num_steps=10, flops=(100 - SECONDS_BESIDE) * USUAL_SPEED)  # a hundred seconds


def test_seconds_follow_the_work_and_the_clock() -> None:
    assert seconds_of(SIZE) == pytest.approx(100)
    assert seconds_of(Size(0, 0.0, minutes=2)) == SECONDS_BESIDE + 120


def test_the_share_of_a_running_job_is_read_from_its_last_whole_line(tmp_path: Path) -> None:
    job = job_of(tmp_path, "a", step=4)
    assert share_done(job, SIZE) == 0.4
    assert share_done(job, Size(0, 0.0, minutes=0.5)) == pytest.approx(8 / 30)
    assert share_done(job_of(tmp_path, "b"), SIZE) == 0


def test_the_speed_is_that_of_finished_jobs(tmp_path: Path) -> None:
    jobs = [(job_of(tmp_path, name), SIZE) for name in "abc"]
    assert measured_speed(jobs) == USUAL_SPEED
    write_outcome(
        jobs[0][0], JobOutcome("a", 0, "finished", "", 99.0, 2 * (100 - SECONDS_BESIDE) + SECONDS_BESIDE)
    )
    write_outcome(jobs[1][0], JobOutcome("b", 0, "failed", "", 99.0, 1000.0))
    assert measured_speed(jobs) == pytest.approx(USUAL_SPEED / 2)


def test_what_is_left_by_hand(tmp_path: Path) -> None:
    jobs = [job_of(tmp_path, "a"), job_of(tmp_path, "b", step=5), job_of(tmp_path, "c")]
    eta = Eta({job.key: SIZE for job in jobs})
    for job in jobs:
        eta.begin(job)
    assert eta.seconds_left(jobs, now=eta.started + 1) is None
    # b was half done before this call. After 60 s job a has ended: 100 of 250 estimated seconds, so 150 are
    # left at 0.6 s each.
    eta.end(JobOutcome("a", 0, "finished"))
    assert eta.seconds_left(jobs[1:], now=eta.started + 60) == pytest.approx(90)
    # b ends: 150 of 250 are done after 75 s.
    eta.end(JobOutcome("b", 0, "finished"))
    assert eta.seconds_left(jobs[2:], now=eta.started + 75) == pytest.approx(50)


@pytest.mark.parametrize("view", [PlainProgress, LiveProgress])
def test_lines_tell_of_every_end(tmp_path: Path, view: type[PlainProgress]) -> None:
    jobs = [job_of(tmp_path, "a"), job_of(tmp_path, "b", step=5)]
    file = io.StringIO()
    with view(
        3,
        1,
        Eta({job.key: SIZE for job in jobs}),
        Console(file=file, width=160, highlight=False, force_terminal=view is LiveProgress),
    ) as shown:
        for job in jobs:
            shown.begin(job)
        shown.tick(jobs)
        shown.end(JobOutcome("a", 0, "failed", "no memory"), "", jobs[1:])
        shown.end(JobOutcome("b", 0, "finished"), "val_loss 4.0000", [])
    said = file.getvalue()
    assert "1 of 3 runs are finished already" in said
    assert "[2/3] a seed 0: failed: no memory" in said
    assert "[3/3] b seed 0: val_loss 4.0000" in said
    assert ("Ctrl-C saves and stops" in said) == (view is LiveProgress)
