"""Sweeps in real processes: what is finished is skipped, what was killed goes on to the bit, what fails is
told, the rest runs."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from somelab.config import override
from somelab.errors import SomelabError
from somelab.experiments.runner.drive import Preparer, processes_and_threads
from somelab.experiments.runner.job import JobOutcome, read_outcome, run_job, state_of, write_outcome
from somelab.experiments.runner.local import LocalExecutor
from somelab.experiments.runner.plan import Arm
from somelab.experiments.sweeps.sweep import run_sweep, timed
from somelab.runs import RunFolder
from tests.experiments.builders import arm_of, job_of, plan_of
from tests.training.builders import assert_same_run, config_of, losses_of

PATIENCE = 300.0


def test_a_sweep_trains_tabulates_and_is_not_trained_again(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(text)
    first = run_sweep(plan, tmp_path, num_workers=2)
    assert first.exit_code == 0
    assert {(outcome.arm, outcome.seed, outcome.status) for outcome in first.driven.outcomes} == {
        (arm, seed, "finished") for arm in ("plain", "no-beta") for seed in (0, 1)
    }
    said = capsys.readouterr().err
    assert "[4/4] " in said
    assert "val_loss " in said
    table = (tmp_path / "table.json").read_bytes()
    arms = json.loads(table)["arms"]
    runs = [RunFolder(tmp_path / "plain" / f"seed-{seed}") for seed in (0, 1)]
    finals = [run.records("metrics")[-1]["val_loss"] for run in runs]
    assert arms[0]["means"]["val_loss"]["mean"] == pytest.approx(sum(finals) / 2, abs=1e-12)
    assert arms[1]["differences"]["val_loss"]["num"] == 2

    again = run_sweep(plan, tmp_path, num_workers=2)
    assert again.driven.outcomes == []
    assert "4 of 4 runs are finished already" in capsys.readouterr().err
    assert (tmp_path / "table.json").read_bytes() == table


def test_a_failed_arm_is_told_and_the_rest_runs(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wild = arm_of(
        "wild", text, "plain", train__learning_rate=1e6, train__clip=None, train__warmup_fraction=0.0
    )
    result = run_sweep(plan_of(text, wild, arm_of("plain", text), seeds=(0,)), tmp_path, num_workers=1)
    assert result.exit_code == 1
    assert [(outcome.arm, outcome.status) for outcome in result.driven.outcomes] == [
        ("wild", "failed"),
        ("plain", "finished"),
    ]
    assert "wild seed 0: failed: training diverged" in capsys.readouterr().err
    assert "wild seed 0 failed: training diverged" in (tmp_path / "table.md").read_text()
    times = json.loads((tmp_path / "times.json").read_text())
    assert times[0]["reason"].startswith("training diverged")
    assert times[1]["cpu_seconds"] > 0
    assert "training diverged" in (tmp_path / "wild" / "seed-0.log").read_text()


def test_a_run_of_something_else_is_never_taken_for_this_one(text: Path, tmp_path: Path) -> None:
    config = config_of(text, train__steps=2)
    job = job_of(tmp_path / "arm" / "seed-0", config)
    assert state_of(job) == "new"
    assert run_job(job, 1).status == "finished"
    assert state_of(job) == "finished"
    digest = RunFolder(job.folder).facts()["data"]["digest"]
    assert state_of(job, digest) == "finished"
    with pytest.raises(SomelabError, match="was trained on other data"):
        state_of(job, "another")
    other = job_of(job.folder, override(config, {"experts.top_k": 1}))
    with pytest.raises(
        SomelabError, match=r"another configuration \(experts.top_k 2, now 1\); give another folder"
    ):
        state_of(other)
    with pytest.raises(SomelabError, match="another configuration"):
        Preparer().prepared([other])


def test_what_a_machine_met_is_one_line_and_counts_its_time(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from somelab.training import session

    def out_of_memory(*_: object, **__: object) -> None:
        raise MemoryError("no\nmore")

    monkeypatch.setattr(session, "start", out_of_memory)
    job = job_of(tmp_path / "arm" / "seed-0", config_of(text))
    write_outcome(job, JobOutcome("arm", 0, "failed", "before", 100.0, 50.0))
    outcome = run_job(job, 1)
    assert (outcome.status, outcome.reason) == ("failed", "MemoryError: no more")
    assert outcome.seconds > 100
    assert outcome.cpu_seconds >= 50
    assert read_outcome(job) == outcome
    assert "Traceback" in job.log.read_text()
    assert capsys.readouterr().err == ""


def wait_for_steps(folder: Path, number: int) -> None:
    deadline = time.monotonic() + PATIENCE
    journal = folder / "metrics.jsonl"
    while not journal.exists() or journal.read_bytes().count(b"\n") < number:
        assert time.monotonic() < deadline, "hung"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_or_killed_job_goes_on_as_if_nothing_had_happened(
    text: Path, tmp_path: Path, number: signal.Signals
) -> None:
    config = config_of(text, train__steps=60, train__checkpoint_every=5)
    whole = job_of(tmp_path / "whole" / "seed-0", config)
    assert run_job(whole, 1).status == "finished"

    job = job_of(tmp_path / "cut" / "seed-0", config)
    executor = LocalExecutor(1)
    executor.start(job)
    wait_for_steps(job.folder, 12)
    (process,) = [process for _, process in executor._processes.values()]
    if number == signal.SIGTERM:
        executor.stop()
    else:
        process.kill()
    process.join(PATIENCE)
    (outcome,) = executor.ended()
    executor.close()
    assert outcome.status == ("interrupted" if number == signal.SIGTERM else "failed")
    assert outcome.reason == ("" if number == signal.SIGTERM else "its process was ended by signal 9")
    assert state_of(job) == "begun"
    assert len(losses_of(job.folder)) < 60

    assert run_job(job, 1).status == "finished"
    assert_same_run(job.folder, whole.folder)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_sweep_that_is_stopped_or_killed_saves_and_a_second_call_goes_on(
    text: Path, tmp_path: Path, number: signal.Signals
) -> None:
    plan = tmp_path / "long.yaml"
    from tests.training.builders import SMALL

    settings = "".join(
        f"  {name}: {value}\n"
        for name, value in {**SMALL, "data.source": str(text)}.items()
        if name != "train.steps"
    )
    plan.write_text(
        "preset: demo\n"
        "seeds: 1\n"
        "settings:\n"
        f"{settings}list:\n"
        "  - {name: long, settings: {train.steps: 150}}\n"
    )
    argv = [
        sys.executable,
        "-m",
        "somelab.cli.main",
        "sweep",
        str(plan),
        "--out",
        str(tmp_path / "out"),
        "--workers",
        "1",
    ]
    # A shell that runs the tests in the background leaves SIGINT ignored, and children inherit that.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(
        argv, stderr=subprocess.PIPE, text=True, env=os.environ, start_new_session=True, preexec_fn=heard
    )
    folder = tmp_path / "out" / "long" / "seed-0"
    wait_for_steps(folder, 5)
    if number == signal.SIGINT:  # a terminal sends it to the whole group
        os.killpg(process.pid, number)
    else:
        os.kill(process.pid, number)
    _, said = process.communicate(timeout=PATIENCE)  # until the last process that holds its output has ended
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "long seed 0: stopped and saved" in said
    else:
        assert process.returncode == -number
    num_done = len(losses_of(folder))
    assert 5 <= num_done < 150
    assert json.loads((tmp_path / "out" / "long" / "seed-0.json").read_text())["status"] == "interrupted"

    done = subprocess.run(argv, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 0, done.stderr
    assert len(losses_of(folder)) == 150


def test_minutes_replace_steps_in_every_arm(text: Path) -> None:
    plan = timed(plan_of(text), 0.5)
    assert all((arm.config.train.minutes, arm.config.train.steps) == (0.5, None) for arm in plan.arms)
    assert plan.settings["train.minutes"] == "0.5"


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert processes_and_threads(2) == (2, 1)  # as OMP_NUM_THREADS says
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert processes_and_threads(None) == (8, 1)
    assert processes_and_threads(2) == (2, 4)
    assert processes_and_threads(16) == (16, 1)
    with pytest.raises(SomelabError, match="workers = 0: is less than 1"):
        processes_and_threads(0)


def test_looking_at_jobs_knows_their_size_and_prepares_their_data_once(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from somelab.data import prepare as preparing

    calls: list[str] = []
    real = preparing.prepare

    def counted(config: object, **options: object) -> object:
        calls.append("prepared")
        return real(config, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(preparing, "prepare", counted)
    arms = (
        arm_of("packed", text),
        arm_of("padded", text, data__layout="pad"),
        arm_of("epoch", text, train__epochs=1.0, train__steps=None),
    )
    looked_at = Preparer().prepared(plan_of(text, *arms).jobs(tmp_path))
    assert calls == ["prepared"]
    assert [one.state for one in looked_at] == ["new"] * 6
    assert looked_at[0].size.num_steps == 12
    assert looked_at[2].size.num_steps > 12
    assert looked_at[0].size.flops > 0


def test_an_arm_that_its_data_cannot_feed_is_refused_before_anything_runs(text: Path, tmp_path: Path) -> None:
    plan = plan_of(text, arm_of("plain", text), arm_of("huge", text, train__batch_size=100_000))
    with pytest.raises(SomelabError, match="one batch needs"):
        run_sweep(plan, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_ray_is_asked_for_only_where_it_is_wanted(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SomelabError, match=r"--executor ray: Ray is not installed; install somelab\[ray\]"):
        run_sweep(plan_of(text), tmp_path, executor="ray")


def test_ray_gives_the_same_table(text: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    arms = tuple(Arm(f"beta-{beta}", config_of(text, gravity__beta=beta), base=None) for beta in (0.0, 0.01))
    plan = plan_of(text, *arms)
    for executor in ("local", "ray"):
        assert run_sweep(plan, tmp_path / executor, executor=executor, num_workers=2).exit_code == 0
    for name in ("table.md", "table.csv", "table.json"):
        assert (tmp_path / "local" / name).read_bytes() == (tmp_path / "ray" / name).read_bytes()
