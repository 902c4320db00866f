"""One report from benchmarks that were run one by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from somelab.bench import suite
from somelab.bench.results import Result, Row
from somelab.bench.settings import Settings
from somelab.cli.main import main


def result_of(name: str) -> Result:
    rows = [Row("a step", "ours", "ours", 0.5, 0.4, 0.6, repetitions=3, ratio=1.0)]
    return Result(name, f"About {name}", {"dtype": "fp32"}, rows, {"largest_over_smallest": 1.2})


def measure(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.MonkeyPatch.context() as patch:

        def run(settings: Settings) -> Result:
            return result_of(name)

        patch.setitem(suite.BENCHES, name, run)
        assert main(["bench", name, "--json"]) == 0
    path = folder / f"{name}.json"
    path.write_text(capsys.readouterr().out)
    return str(path)


def test_the_report_has_every_part_and_its_bars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [measure(name, tmp_path, capsys) for name in ("scaling", "memory")]
    page = tmp_path / "RESULTS.md"
    flags = [word for file in files for word in ("--join", file)]
    assert main(["bench", "all", *flags, "--out", str(page), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [part["bench"] for part in found["benches"]] == ["scaling", "memory"]
    loads = [json.loads(Path(file).read_text())["load"]["seconds"] for file in files]
    assert found["load"]["seconds"] == pytest.approx(sum(loads))
    text = page.read_text()
    assert "Made by `somelab bench scaling --json`, `somelab bench memory --json` on" in text
    assert "## About scaling (`bench scaling`)" in text
    assert "## About memory (`bench memory`)" in text
    assert "E = 64 -> 512 at constant K and tokens, step time | <= 1.25x | <= 1.1x | 1.20x | reached" in text


def test_what_cannot_be_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = measure("memory", tmp_path, capsys)
    (tmp_path / "other.json").write_text("[1]")
    for argv, words in (
        (
            ["all", "--join", file, "--join", file],
            "join = 'memory': was measured twice; give one file for each",
        ),
        (["all", "--join", str(tmp_path / "other.json")], "is not the result of a benchmark; give what"),
        (["all", "--join", str(tmp_path / "none.json")], "is not the result of a benchmark; give what"),
        (["memory", "--join", file], "join = 1: memory is one benchmark; write all"),
    ):
        assert main(["bench", *argv]) != 0
        assert words in capsys.readouterr().err
