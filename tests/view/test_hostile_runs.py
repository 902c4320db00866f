"""Run folders that were made to stop their reader: what blocks, what never ends, what fills the memory. Each
is one line of the list, and every other run is still answered."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from somelab.errors import SomelabError
from somelab.runs import RunFolder
from somelab.runs.trained import TrainedModel, load_trained
from somelab.view.live.listing import LiveList
from somelab.view.live.messages import RunList
from somelab.view.live.table import MOST_FILES, RunTable
from somelab.view.page import records, tail
from somelab.view.page.files import facts_of
from somelab.view.page.payload import run_of
from somelab.view.page.records import MOST_CELLS, Columns, Metrics, RunRecords, Table
from somelab.view.page.results import kind_of, read_json
from somelab.view.page.tail import Tail
from tests.view.asgi import Application, application
from tests.view.builders import append, synthetic_run

FILES = ("config.yaml", "run.json", "environment.json", "metrics.jsonl", "layers.jsonl", "timing.jsonl")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    synthetic_run(tmp_path / "runs" / "good")
    synthetic_run(tmp_path / "runs" / "bad")
    return tmp_path / "runs"


def fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def check_the_rest(served: Application) -> str:
    """The list and the other run are answered; the problem of the bad one."""
    listed = {run.id: run for run in RunList.model_validate_json(served.ask("/api/runs").body).runs}
    assert listed["good"].problem is None
    assert listed["good"].step == 4
    assert served.ask("/api/runs/good").json["status"] == "stopped"
    problem = listed["bad"].problem
    assert problem is not None
    assert "\n" not in problem
    return problem


@pytest.mark.parametrize("name", [*FILES, "samples.jsonl", ".lock", "keys/step-00000010.safetensors", "odd"])
def test_a_fifo_blocks_nothing(runs: Path, name: str) -> None:
    fifo(runs / "bad" / name)
    with application([runs]) as served:
        assert "is not a regular file" in check_the_rest(served)
        for part in ("", "/galaxies", "/guilds", "/traces", "/events"):
            reply = served.ask(f"/api/runs/bad{part}")
            assert reply.status == (422 if part else 200)
            assert b"is not a regular file" in reply.body


def test_aliases_of_aliases_are_not_followed(runs: Path) -> None:
    """Ten lines that stand for ten thousand million values."""
    lines = ["a0: &a0 [x]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 11))]
    (runs / "bad" / "config.yaml").write_text("\n".join(lines))
    with application([runs]) as served:
        assert "holds a YAML alias" in check_the_rest(served)
        assert "holds a YAML alias" in served.ask("/api/runs/bad").json["problem"]
        for part in ("guilds", "traces"):
            assert "holds a YAML alias" in served.ask(f"/api/runs/bad/{part}").json["error"]
        reply = served.ask("/api/runs/bad/trace", method="POST", body=b'{"prompt": "x"}')
        assert "holds a YAML alias" in reply.json["error"]


@pytest.mark.parametrize("name", FILES)
def test_a_report_of_a_fifo_ends_too(runs: Path, name: str) -> None:
    fifo(runs / "bad" / name)
    found = run_of(runs / "bad")
    assert found.status == "broken"
    assert "is not a regular file" in (found.problem or "")


@pytest.mark.parametrize("name", FILES)
def test_a_report_follows_no_link_out_of_a_run(runs: Path, tmp_path: Path, name: str) -> None:
    """A report is passed on: what a link shows of other folders would be, too."""
    path = runs / "bad" / name
    path.rename(tmp_path / name)
    path.symlink_to(tmp_path / name)
    found = run_of(runs / "bad")
    assert found.status == "broken"
    assert "leads out of" in (found.problem or "")


def test_results_are_not_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text('{"plan": "secret", "arms": []}')
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "table.json").symlink_to(tmp_path / "table.json")
    assert kind_of(tmp_path / "sweep") is None
    with pytest.raises(SomelabError, match="leads out of"):
        read_json(tmp_path / "sweep" / "table.json")


def test_a_lock_outside_of_a_run_is_not_tested(runs: Path, tmp_path: Path) -> None:
    """Testing a lock takes it for a moment, and whose file it is nobody knows."""
    fcntl = pytest.importorskip("fcntl")
    run = RunFolder(runs / "bad")
    with (tmp_path / "foreign").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        (run.path / ".lock").symlink_to(tmp_path / "foreign")
        assert not run.is_locked
        (run.path / ".lock").unlink()
        with run.locked():
            assert run.is_locked


def test_a_changed_environment_is_told(runs: Path, some_run: Path) -> None:
    shutil.rmtree(runs / "bad")
    shutil.copytree(some_run, runs / "bad", symlinks=True)
    path = runs / "bad" / "environment.json"
    path.write_text(path.read_text().replace("{", '{"command": ["rm"], ', 1))
    assert "its digest differs" in (run_of(runs / "bad").problem or "")
    with application([runs]) as served:
        assert "its digest differs" in check_the_rest(served)


@pytest.mark.parametrize("name", ["table.json", "plan.json", "summary.json", "study.json"])
def test_results_that_are_a_fifo_are_no_results(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert kind_of(tmp_path) is None


@pytest.mark.parametrize("name", ["config.yaml", "run.json", "environment.json"])
def test_a_file_without_end_is_not_read(runs: Path, name: str) -> None:
    with (runs / "bad" / name).open("wb") as file:
        file.truncate(1 << 40)  # a terabyte of zeros that takes no space
    with application([runs]) as served:
        assert "bytes, and is not read" in check_the_rest(served)


def test_a_journal_without_end_is_not_read(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LARGEST_JOURNAL", 5_000)
    run = synthetic_run(runs / "long")
    append(run, "metrics", [{"kind": "train", "step": step, "loss": 1.0} for step in range(1000)])
    found = run_of(run.path)
    assert found.status == "broken"
    assert "has more than 5,000 bytes" in (found.problem or "")
    assert found.balance is not None  # the other journals are shown


def test_a_line_without_end_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "BLOCK", 1000)
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n' + b"x" * 5_500 + b'\n{"step": 2}\n{"step": 3}\n')
    follower, steps = Tail(path), list[int]()
    for _ in range(10):
        found, restarted = follower.read()
        steps += [record["step"] for record in found]
        assert not restarted
    assert steps == [1, 2, 3]
    assert not follower.is_behind
    assert "line 2 has more than 1,000 bytes" in (follower.problem or "")


def test_blocks_add_up_to_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"".join(json.dumps({"step": step}).encode() + b"\n" for step in range(500)))
    monkeypatch.setattr(tail, "BLOCK", 300)
    follower, steps = Tail(path), list[int]()
    while True:
        steps += [record["step"] for record in follower.read()[0]]
        if not follower.is_behind:
            break
    assert steps == list(range(500))


@pytest.mark.parametrize("last_bytes", [1, 12, 13, 14, 100, 10**6])
def test_a_start_near_the_end_begins_with_a_whole_line(tmp_path: Path, last_bytes: int) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"".join(b'{"step": %2d}\n' % step for step in range(50)))  # 13 bytes each
    follower = Tail(path, last_bytes=last_bytes)
    steps = [record["step"] for record in follower.read()[0]]
    assert steps == list(range(50))[max(0, 50 - last_bytes // 13) :]
    assert follower.is_cut == (last_bytes < 13 * 50)
    with path.open("ab") as file:
        file.write(b'{"step": 50}\n')
    assert follower.read() == ([{"step": 50}], False)


def test_columns_are_the_records() -> None:
    given = [
        {"kind": "train", "step": 1, "loss": 2.5, "tokens": 123456789012, "grad_norm": float("nan")},
        {"kind": "train", "step": 2, "loss": "x", "learning_rate": 1e-3},
    ]
    columns = Columns(("loss", "learning_rate", "grad_norm"))
    for record in given:
        columns.append(record)
    assert columns[0] == {"step": 1, "tokens": 123456789012, "loss": 2.5}
    assert columns[-1:] == [{"step": 2, "learning_rate": 1e-3}]
    assert len(columns) == 2


def test_a_long_table_loses_steps_but_never_the_last() -> None:
    table = Table()
    layers = [{f"measure {i}": 0.5 for i in range(16)}] * 12
    num_records = 3 * MOST_CELLS // (16 * 12)
    for step in range(num_records):
        table.append({"step": step, "layers": layers})
    steps = [record["step"] for record in table]
    assert len(steps) * 16 * 12 <= MOST_CELLS
    assert len(steps) > MOST_CELLS // (16 * 12) // 3
    assert steps[0] == 0
    assert steps[-1] == num_records - 1
    assert len(set(np.diff(steps[:-1]))) == 1  # evenly
    assert next(iter(table))["layers"] == layers


def test_names_and_layers_without_end_are_bounded() -> None:
    """A table is as large as its longest row times its longest column: one record must not blow up all."""
    table = Table()
    for step in range(3_000):
        table.append({"step": step, "layers": [{f"name {step}": 1.0, "gini": 0.1}]})
    table.append({"step": 3_000, "layers": [{"gini": 0.2}] * 5_000})
    kept = list(table)
    names = {name for record in kept for layer in record["layers"] for name in layer}
    assert len(kept) * len(names) * max(len(record["layers"]) for record in kept) <= MOST_CELLS
    assert kept[-1]["step"] == 3_000


def test_warnings_without_end_are_bounded() -> None:
    metrics = Metrics()
    for step in range(5_000):
        metrics.append({"kind": "warning", "step": step, "key": "k/1", "sentence": "s" * 50_000})
    assert len(metrics.warned) == records.MOST_WARNINGS
    assert max(len(record["sentence"]) for record in metrics.warned) == records.LONGEST_SENTENCE


def test_a_run_is_read_on_and_not_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = synthetic_run(tmp_path / "run", records=500)
    held = RunRecords(run.path)
    parsed: list[bytes] = []
    original = tail.parsed
    monkeypatch.setattr(tail, "parsed", lambda lines, line: parsed.append(line) or original(lines, line))
    assert run_of(run.path, records=held) == run_of(run.path)
    assert len(parsed) == 2 * 3 * 500
    parsed.clear()
    append(run, "metrics", [{"kind": "train", "step": 501, "loss": 1.0, "tokens": 1}])
    found = run_of(run.path, records=held)
    assert len(parsed) == 1
    assert found.curves.train.step[-1] == 501
    assert found == run_of(run.path)


VANISHING: dict[str, tuple[Callable[[Path], object], str | None]] = {
    "the folder": (shutil.rmtree, "config file"),
    "config.yaml": (lambda run: (run / "config.yaml").unlink(), "config file"),
    "environment.json": (lambda run: (run / "environment.json").unlink(), "environment.json: is missing"),
    "keys": (lambda run: shutil.rmtree(run / "keys"), None),  # a run that has just begun has none
}


@pytest.mark.parametrize("what", VANISHING)
def test_a_run_that_vanishes_while_it_is_read(runs: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    remove, problem = VANISHING[what]

    def vanish(run: RunFolder, **more: Any) -> dict[str, Any]:
        facts = facts_of(run, **more)
        if run.path.name == "bad":
            remove(run.path)
        return facts

    monkeypatch.setattr("somelab.view.page.status.facts_of", vanish)
    found = run_of(runs / "bad")
    assert found.status == ("stopped" if problem is None else "broken")
    assert problem is None or problem in (found.problem or "")
    assert "\n" not in (found.problem or "")


def test_a_run_that_vanishes_while_the_list_is_made(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def vanish(run: RunFolder, **more: Any) -> dict[str, Any]:
        facts = facts_of(run, **more)
        if run.path.name == "bad":
            shutil.rmtree(run.path)
        return facts

    monkeypatch.setattr("somelab.view.page.status.facts_of", vanish)
    listed = {run.id: run for run in LiveList(RunTable([runs])).look().runs}
    assert listed["bad"].status == "broken"
    assert "\n" not in (listed["bad"].problem or "")
    assert listed["good"].problem is None
    assert listed["good"].step == 4


def test_a_served_run_that_vanishes_is_gone_from_the_list(runs: Path) -> None:
    with application([runs]) as served:
        assert served.ask("/api/runs/bad").status == 200
        shutil.rmtree(runs / "bad")
        for part in ("", "/galaxies", "/guilds", "/events"):
            reply = served.ask(f"/api/runs/bad{part}")
            assert reply.status == 404
            assert "is not among the runs" in reply.json["error"]
        service = served.app.state.service
        assert [run.id for run in service.list.look().runs] == ["good"]


def test_links_in_a_circle_are_a_line(runs: Path) -> None:
    (runs / "bad" / "a").symlink_to(runs / "bad" / "b")
    (runs / "bad" / "b").symlink_to(runs / "bad" / "a")
    (runs / "bad" / "round").symlink_to(runs)
    with application([runs]) as served:
        listed = served.ask("/api/runs")
    assert listed.status == 200
    assert {run["id"] for run in listed.json["runs"]} >= {"good", "bad"}


def test_a_folder_of_too_many_files_is_not_read(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_FILES > 1_000
    monkeypatch.setattr("somelab.view.live.table.MOST_FILES", 20)
    for number in range(30):
        (runs / "bad" / f"{number}").touch()
    with application([runs]) as served:
        assert "has more than 20 files" in check_the_rest(served)


def test_snapshots_that_fill_the_memory_are_not_read(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("somelab.analysis.snapshots.MOST_BYTES", 1_000)
    found = run_of(runs / "bad")
    assert "has more than 1,000 bytes" in (found.problem or "")


def test_a_model_of_nan_is_told_in_one_line(some_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverged(run: RunFolder) -> TrainedModel:
        trained = load_trained(run)
        with torch.no_grad():
            for weight in trained.model.parameters():
                weight.fill_(float("nan"))
        return trained

    monkeypatch.setattr("somelab.runs.trained.load_trained", diverged)
    monkeypatch.setattr("somelab.view.page.heavy.load_trained", diverged)
    with application([some_run]) as served:
        reply = served.ask("/api/runs/stories/trace", method="POST", body=b'{"prompt": "Once"}')
        parts = {part: served.ask(f"/api/runs/stories/{part}") for part in ("guilds", "traces", "galaxies")}
    assert reply.status == 422
    assert "logits are not finite" in reply.json["error"]
    assert "\n" not in reply.json["error"]
    assert {part: found.status for part, found in parts.items() if found.status >= 500} == {}


def test_what_torch_raises_about_a_model_is_one_line(some_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(run: RunFolder) -> TrainedModel:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp:124]\nframe #0: ...")

    monkeypatch.setattr("somelab.runs.trained.load_trained", fails)
    with application([some_run]) as served:
        reply = served.ask("/api/runs/stories/trace", method="POST", body=b'{"prompt": "Once"}')
    assert reply.status == 422
    assert "its model cannot be computed (RuntimeError: [enforce fail" in reply.json["error"]
    assert "frame" not in reply.json["error"]
