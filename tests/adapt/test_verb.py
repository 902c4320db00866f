"""somelab adapt as a person uses it: a run reads other text both ways, stays as it was, and an adapted copy
can be opened."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from somelab.cli.lab.adapt import sparkline
from somelab.cli.main import main
from somelab.runs import RunFolder


def digest_of(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def record_of(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["adapt", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def complaint(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    capsys.readouterr()
    assert main(["adapt", *map(str, words)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.fixture
def flags() -> list[str]:
    return ["--every", "128", "--tokens", "2000", "--home-tokens", "500", "--rate", "20"]


def test_both_ways_of_reading(
    run: Path, other_text: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = digest_of(run)
    record = record_of(capsys, run, "--data", other_text, "--both", *flags)
    assert digest_of(run) == before
    frozen, active = record["frozen"], record["active"]
    assert frozen["num_tokens"] == active["num_tokens"] >= 2000
    assert frozen["movement"]["max_angle"] == 0.0
    assert active["movement"]["mean_angle"] > 0
    assert frozen["home"]["before"] == frozen["home"]["after"] == active["home"]["before"]
    assert active["home"]["after_reversion"]["val_loss"] == pytest.approx(
        active["home"]["before"]["val_loss"], rel=0.01
    )
    assert record["gain"]["nats_per_token"] == pytest.approx(frozen["val_loss"] - active["val_loss"])
    assert sum(window["num_tokens"] for window in active["windows"]) == active["num_tokens"]
    assert frozen["bits_per_byte"] > 0
    assert record["settings"]["rules"] == ["attraction", "peer_pull", "decay", "respawn"]


def test_frozen_alone_is_what_eval_says(
    run: Path, other_text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = record_of(capsys, run, "--data", other_text, "--frozen")
    assert "active" not in record
    assert main(["eval", str(run), "--data", str(other_text), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert record["frozen"]["num_tokens"] == measured["num_tokens"]
    assert record["frozen"]["val_loss"] == pytest.approx(measured["val_loss"], rel=1e-5)
    assert record["frozen"]["bits_per_byte"] == pytest.approx(measured["bits_per_byte"], rel=1e-5)


def test_the_memory_of_words_gains_on_repetitive_text(
    run: Path, other_text: Path, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for rule in ("cache", "memory"):
        record = record_of(capsys, run, "--data", other_text, "--rules", rule, *flags)
        assert record["gain"]["nats_per_token"] > 0.5
        assert record["active"]["levers"]["cache_weight"] > 0.05


def test_an_adapted_copy_is_a_run(
    run: Path, other_text: Path, flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, copy = digest_of(run), tmp_path / "adapted"
    record = record_of(capsys, run, "--data", other_text, "--active", "--save", copy, *flags)
    assert digest_of(run) == before
    assert RunFolder.open(copy).facts()["adapted"]["from"] == str(run.resolve())
    for checkpoint in ("last", "best"):
        assert main(["eval", str(copy), "--json", "--checkpoint", checkpoint]) == 0
        measured = json.loads(capsys.readouterr().out)
    assert main(["eval", str(run), "--json"]) == 0
    original = json.loads(capsys.readouterr().out)
    assert measured["val_loss"] != original["val_loss"]
    assert measured["val_loss"] == pytest.approx(record["active"]["home"]["after"]["val_loss"], rel=0.05)
    assert main(["generate", str(copy), "--prompt", "Ann saw"]) == 0
    assert "is a run" in complaint(capsys, run, "--data", other_text, "--save", copy)


def test_the_table(run: Path, other_text: Path, flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["adapt", str(run), "--data", str(other_text), *flags]) == 0
    text = capsys.readouterr().out
    assert "frozen" in text
    assert "active" in text
    assert "nats per token" in text


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--frozen", "--active"], "exclude each other"),
        (["--frozen", "--save", "x"], "--save"),
        (["--rules", "atraction"], "attraction"),
        (["--rules", "gain", "--save", "x"], "gain"),
        (["--tokens", "0"], "--tokens"),
        (["--every", "0"], "every"),
        (["--schedule", "linear"], "schedule"),
    ],
)
def test_impossible_wishes(
    run: Path,
    other_text: Path,
    words: list[str],
    named: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert named in complaint(capsys, run, "--data", other_text, *words)
    assert not (tmp_path / "x").exists()


def test_no_data_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--data" in complaint(capsys, run)


def test_a_curve_in_one_line() -> None:
    assert sparkline([0.0, 0.5, 1.0], 0.0, 1.0) == "▁▅█"
    assert sparkline([3.0], 3.0, 3.0) == "▁"
