"""From results to what people and programs read: bars, table, chart, page, JSON, and the command's own
complaints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from somelab.bench import suite
from somelab.bench.bars import BARS, Bar, judge
from somelab.bench.report import CHART_WIDTH, bar, chart, markdown, quantity, remark, section, spread, table
from somelab.bench.results import Result, Row
from somelab.bench.settings import Settings
from somelab.bench.surroundings import Watch, warning
from somelab.cli.lab.bench import Arguments
from somelab.cli.main import main

RESULT = Result(
    "scaling",
    "More experts",
    {"dtype": "fp32", "pools": [64, 512], "num_tokens": 8192, "quick": False},
    [
        Row("a step", "64 experts", "ours", 0.5, 0.4, 0.6, repetitions=5, ratio=1.0),
        Row("a step", "512 experts", "other", 0.6, 0.55, 0.7, repetitions=5, ratio=1.2, note="more | keys"),
        Row("a step", "gone", "peer", problem="not installed"),
    ],
    {"largest_over_smallest": 1.2},
)


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (12.0, "stretch reached"),
        (7.0, "stretch reached"),
        (4.0, "reached"),
        (3.99, "not reached"),
        (None, "not measured"),
    ],
)
def test_a_bar_to_be_passed(value: float | None, verdict: str) -> None:
    assert Bar("layer", "notebook_uniform", "", 4, 7).verdict(value) == verdict


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.004, "stretch reached"), (0.02, "reached"), (0.021, "not reached")]
)
def test_a_bar_to_stay_below(value: float, verdict: str) -> None:
    assert Bar("gravity", "share_a1", "", 0.02, 0.005, "%", at_most=True).verdict(value) == verdict


def test_values_of_bars_are_readable() -> None:
    assert Bar("", "", "", 4, 7).shown(4.216) == "4.22x"
    assert Bar("", "", "", 0.35, 0.6, "%").shown(0.4216) == "42.2%"
    assert Bar("", "", "", 0.02, 0.005, "%").shown(0.00421) == "0.42%"
    assert Bar("", "", "", 6e9, 4e9, "GB").shown(5.921e9) == "5.92 GB"
    assert Bar("", "", "", 4, 7).shown(None) == "-"


def test_only_what_was_run_is_judged() -> None:
    judged = judge([RESULT], applies=True)
    assert {entry["bench"] for entry in judged} == {"scaling"}
    assert judged[0]["key"] == "largest_over_smallest"
    assert [entry["verdict"] for entry in judged] == ["reached", *["not measured"] * 3]
    assert (judged[0]["bar"], judged[0]["stretch"], judged[0]["shown"]) == ("<= 1.25x", "<= 1.1x", "1.20x")
    assert judge([RESULT], applies=False)[0]["verdict"] == "other shapes: not compared"


def test_every_bar_belongs_to_a_benchmark() -> None:
    assert {bar.bench for bar in BARS} == set(suite.BENCHES)
    assert len(BARS) == 26


def test_the_longest_bar_fills_the_chart_and_the_shortest_is_seen() -> None:
    assert bar(3.0, 3.0) == "█" * CHART_WIDTH
    assert bar(1.5, 3.0) == "█" * (CHART_WIDTH // 2)
    assert bar(1e-9, 3.0) == "▏"
    assert bar(3.0 / CHART_WIDTH * 1.5, 3.0) == "█▌"
    lines = chart(RESULT.rows)
    assert lines[0] == "a step"
    assert lines[1] == f"  64 experts   {bar(0.5, 0.6)} 500 ms"
    assert lines[2] == f"  512 experts  {'█' * CHART_WIDTH} 600 ms"
    assert len(lines) == 3  # who has no number has no bar


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.00123456, "s", "1.23 ms"),
        (0.25, "s", "250 ms"),
        (4.2, "s", "4200 ms"),
        (12.34, "s", "12.3 s"),
        (5.92e9, "bytes", "5.92 GB"),
        (1802.4, "GFLOP/s", "1802 GFLOP/s"),
    ],
)
def test_quantities(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_a_row_in_words() -> None:
    assert spread(RESULT.rows[0]) == "400 ms to 600 ms (5)"
    assert spread(RESULT.rows[2]) == "-"
    assert remark(RESULT.rows[2]) == "not installed"
    told = Row("", "", "ours", 1.0, note="n", details={"tokens_per_second": 1234.5, "difference": 3e-7})
    assert remark(told) == "n; 1,234 tokens/s; outputs differ by 3e-07 at most"


def test_a_table_keeps_its_columns() -> None:
    lines = table(["a", "b"], [["1 | 2", "3"]])
    assert lines == ["| a | b |", "|---|---|", "| 1 / 2 | 3 |"]
    cells = {line.count("|") for line in section(RESULT) if line.startswith("|")}
    assert cells == {7}


def told(**load: Any) -> dict[str, Any]:
    return {
        "command": "somelab bench scaling",
        "date": "2025-01-02",
        "somelab": "0.1.0",
        "dtype": "fp32",
        "machine": {
            "processor": "a CPU",
            "features": {"avx2": True, "amx_bf16": False},
            "cores": 2,
            "threads": 2,
            "memory": 16e9,
            "python": "3.11",
            "torch": "2.13.0",
            "peers": {"transformers": "5.0", "st-moe-pytorch": None},
        },
        "load": {
            "before": (0.1, 0.2, 0.3),
            "after": (2.0, 1.0, 0.5),
            "other_cores": 0.02,
            "seconds": 12.0,
            "warning": None,
            **load,
        },
        "bars": judge([RESULT], applies=True),
    }


def test_the_page_holds_machine_bars_table_and_chart() -> None:
    page = markdown(told(), [RESULT])
    assert "Made by `somelab bench scaling` on 2025-01-02, somelab 0.1.0." in page
    assert "| features | avx2 yes, amx_bf16 no |" in page
    assert "| peers | transformers 5.0, st-moe-pytorch not installed |" in page
    assert (
        "| E = 64 -> 512 at constant K and tokens, step time | <= 1.25x | <= 1.1x | 1.20x | reached |" in page
    )
    assert "| a step | 512 experts | 600 ms | 550 ms to 700 ms (5) | 1.20x | more / keys |" in page
    assert "| a step | gone | - | - | - | not installed |" in page
    assert "num_tokens 8,192" in page
    assert "█" in page
    assert "this run computes in fp32" in page
    assert "Disturbed" not in page


def test_a_disturbed_run_is_marked() -> None:
    assert "> **Disturbed run:** others were busy." in markdown(told(warning="others were busy"), [RESULT])


def test_when_a_run_is_disturbed() -> None:
    quiet = {"before": (3.0, 3.0, 3.0), "other_cores": 0.1}
    assert warning(quiet, 2) is None  # what others really used counts more than an average over the past
    assert "used 0.80 of 2 cores" in str(warning({**quiet, "other_cores": 0.8}, 2))
    unknown = {"before": (1.0, 1.0, 1.0), "other_cores": None}
    assert "the load was 1.00 on 2 cores" in str(warning(unknown, 2))
    assert warning({"before": (0.2, 0.2, 0.2), "other_cores": None}, 2) is None
    assert warning({"before": None, "other_cores": None}, 2) is None


def test_a_watch_knows_its_own_work_from_that_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from somelab.bench import surroundings

    clocks = {"now": 100.0, "busy": 50.0, "own": 5.0}
    monkeypatch.setattr(surroundings.time, "monotonic", lambda: clocks["now"])
    monkeypatch.setattr(surroundings, "_busy_seconds", lambda: clocks["busy"])
    monkeypatch.setattr(surroundings, "_own_seconds", lambda: clocks["own"])
    watch = Watch()
    # In 10 s the machine worked 20 core seconds, 12 of them ours.
    clocks.update(now=110.0, busy=70.0, own=17.0)
    assert watch.stop()["other_cores"] == pytest.approx(0.8)


def test_the_command_that_is_noted_repeats_the_run() -> None:
    assert Arguments("layer").command() == "somelab bench layer"
    arguments = Arguments("all", json=True, dtype="bf16", repetitions=3, out=Path("x.md"))
    assert arguments.command() == "somelab bench all --json --dtype bf16 --repetitions 3 --out x.md"


def test_json_of_one_benchmark(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[Settings] = []

    def run(settings: Settings) -> Result:
        seen.append(settings)
        settings.announce("scaling: now")
        return RESULT

    monkeypatch.setitem(suite.BENCHES, "scaling", run)
    page = tmp_path / "RESULTS.md"
    assert main(["bench", "scaling", "--json", "--dtype", "fp32", "--out", str(page)]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert captured.err == "scaling: now\n"
    assert found["bench"] == "scaling"
    assert found["ratios"] == {"largest_over_smallest": 1.2}
    assert [row["contender"] for row in found["rows"]] == ["64 experts", "512 experts", "gone"]
    assert {"case", "kind", "median", "low", "high", "repetitions", "ratio", "note", "problem"} <= set(
        found["rows"][0]
    )
    assert {"command", "machine", "load", "bars", "settings", "notes", "figures", "dtype"} <= set(found)
    assert found["bars"][0]["verdict"] == "reached"
    assert (seen[0].compute_name, seen[0].quick) == ("fp32", False)
    assert page.read_text().startswith("# Benchmarks\n")


def test_all_runs_every_benchmark_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    for name in suite.BENCHES:
        monkeypatch.setitem(suite.BENCHES, name, lambda settings, name=name: ran.append(name) or RESULT)
    assert main(["bench", "all", "--json"]) == 0
    assert ran == ["layer", "gravity", "step", "generate", "memory", "scaling"]
    assert len(json.loads(capsys.readouterr().out)["benches"]) == 6


def test_what_people_see(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(suite.BENCHES, "scaling", lambda settings: RESULT)
    assert main(["bench", "scaling", "--preset", "b1"]) == 0
    printed = capsys.readouterr().out
    assert "a step 512 experts 600 ms 550 ms to 700 ms (5) 1.20x more | keys" in " ".join(printed.split())
    assert "not installed" in printed
    assert "other shapes: not compared" in printed


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["layer", "--repetitions", "0"], "repetitions = 0: measures nothing; give 1 or more"),
        (["layer", "--big"], "big = True: layer has no larger form; leave it out, or measure memory"),
        (
            ["layer", "--family", "hadamard"],
            "family = 'hadamard': layer measures every family; leave it out, or measure scaling",
        ),
        (["layer", "--preset", "b33"], "preset = 'b33': is not a preset; did you mean b3?"),
        (
            ["layer", "--out", "no/such/folder/x.md"],
            "out = 'no/such/folder/x.md': its folder does not exist; make no/such/folder first",
        ),
        (["layr"], "layr"),
        ([], "see `somelab bench --help`"),
        (["layer", "--experts.top-k", "2"], "--experts.top-k is a setting, and bench has no configuration"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], argv: list[str], words: str) -> None:
    assert main(["bench", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert words in captured.err


def test_layer_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The whole way, on tiny shapes."""
    assert main(["bench", "layer", "--quick", "--repetitions", "1", "--dtype", "fp32", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["ratios"]) == {
        "notebook_uniform",
        "notebook_skewed",
        "gemm_peak",
        "dense_trained",
        "best_peer",
        "best_peer_name",
        "int8_notebook_uniform",
        "int8_notebook_skewed",
        "int8_best_peer",
        "int8_peak",
        "hadamard_frozen",
        "modulated_hadamard",
        "hadamard_dense_equal",
    }
    assert all(
        found["ratios"][key] > 0
        for key in ("notebook_uniform", "notebook_skewed", "gemm_peak", "dense_trained")
    )
    assert {row["kind"] for row in found["rows"]} == {
        "ours",
        "engine",
        "int8",
        "hadamard",
        "notebook",
        "dense",
        "peer",
        "machine",
    }
    assert all(bar["verdict"] == "other shapes: not compared" for bar in found["bars"])
