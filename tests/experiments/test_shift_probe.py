"""The probe `domain-shift` on runs of seconds: finite figures that fit each other, and a finished run that is
read, not trained."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from somelab.disk.checked_json import sealed, unsealed
from somelab.errors import ConfigError
from somelab.experiments.probes import shift_probe
from somelab.experiments.probes.probes import read_probes, read_shift_digest
from somelab.experiments.runner.job import run_job, state_of
from somelab.experiments.runner.plan import Arm, Job, Plan
from somelab.experiments.sweeps.sweep import tabulate
from somelab.runs import RunFolder
from tests.experiments.builders import job_of
from tests.training.builders import config_of


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Text of another kind than the runs', that repeats itself: easy to remember and easy to learn."""
    path = tmp_path / "sums.txt"
    path.write_text(
        "\n<|endoftext|>\n".join(f"{n % 7} plus {n % 5} makes {n % 7 + n % 5}." for n in range(400)) + "\n"
    )
    return path


READING = shift_probe.Reading(tokens=1500, home_tokens=400, every=100)


def trained(text: Path, folder: Path, other: Path, **settings: Any) -> Job:
    config = config_of(text, train__steps=30, train__learning_rate=0.005, router__temperature=0.3, **settings)
    job = job_of(folder / "arm" / "seed-0", config, shift=str(other), reading=READING)
    assert run_job(job, 1).status == "finished"
    return job


def test_a_finished_run_gets_the_missing_probe_and_is_not_trained_again(
    text: Path, tmp_path: Path, other: Path
) -> None:
    plain = trained(text, tmp_path, other)
    journal, checkpoint = (
        (plain.folder / "metrics.jsonl").read_bytes(),
        (plain.folder / "checkpoints" / "last").resolve(),
    )
    probed = Job(
        plain.arm, 0, plain.config, plain.folder, (shift_probe.NAME,), shift=str(other), reading=READING
    )
    assert (state_of(plain), state_of(probed)) == ("finished", "trained")
    assert run_job(probed, 1).status == "finished"
    assert state_of(probed) == "finished"
    assert (plain.folder / "metrics.jsonl").read_bytes() == journal
    assert (plain.folder / "checkpoints" / "last").resolve() == checkpoint

    path = plain.folder / "probes" / "domain-shift.json"
    complete = json.loads(path.read_text())
    older = {**unsealed(complete), "study": {name: complete["study"][name] for name in ("frozen", "cache")}}
    path.write_text(json.dumps(sealed(older)))
    assert state_of(probed) == "trained", "it was measured before a method was added"
    assert run_job(probed, 1).status == "finished"
    assert json.loads(path.read_text()) == complete

    run = RunFolder(plain.folder)
    kept = json.loads((plain.folder / "probes" / "domain-shift.json").read_text())
    assert kept["text"] == {"source": str(other), "digest": shift_probe.text_digest(str(other))}
    assert read_shift_digest(run) == kept["text"]["digest"]
    figures = read_probes(run)
    assert "text" not in figures
    assert all(math.isfinite(value) for value in figures.values())
    assert figures["shift_tokens"] >= 1500
    for way in (
        "active",
        "noise",
        "memory",
        "cache",
        "bigram",
        "router",
        "all",
        *(f"all_at_{rate}" for rate in shift_probe.RATES),
    ):
        assert figures[f"shift_gain_{way}"] == pytest.approx(
            figures["shift_loss_frozen"] - figures[f"shift_loss_{way}"]
        )
    assert figures["shift_gain_routing"] == pytest.approx(
        figures["shift_gain_memory"] - figures["shift_gain_cache"]
    )
    # A text that repeats itself is learned by gradient, remembered by a cache, and keys did move.
    assert figures["shift_gain_all"] > figures["shift_gain_router"]
    assert figures["shift_gain_cache"] > 0
    assert figures["shift_forgetting_all"] > figures["shift_forgetting_cache"]
    assert figures["shift_angle_active"] == pytest.approx(figures["shift_angle_noise"], rel=1e-3)
    assert figures["shift_angle_active"] > 0


def test_a_dense_run_has_what_needs_no_keys(text: Path, tmp_path: Path, other: Path) -> None:
    job = trained(text, tmp_path, other, model__feed_forward="dense", model__d_dense=32)
    figures = shift_probe.domain_shift(RunFolder(job.folder), str(other), READING)
    ways = ("cache", "bigram", "all", *(f"all_at_{rate}" for rate in shift_probe.RATES))
    wanted = {f"shift_{what}_{way}" for way in ways for what in ("loss", "gain", "forgetting")}
    assert set(figures) == {
        *wanted,
        "text",
        "shift_tokens",
        "shift_loss_frozen",
        "shift_rate_all",
        "shift_forgetting_all_least",
        "study",
    }
    at_rates = {float(rate): figures[f"shift_gain_all_at_{rate}"] for rate in shift_probe.RATES}
    assert figures["shift_gain_all"] == max(at_rates.values()) == at_rates[figures["shift_rate_all"]]
    forgotten = [figures[f"shift_forgetting_all_at_{rate}"] for rate in shift_probe.RATES]
    assert figures["shift_forgetting_all_least"] == min(forgotten)


def report(loss: float, forgetting: float, **more: Any) -> dict[str, Any]:
    return {"new": {"val_loss": loss}, "forgetting": forgetting, **more}


def test_figures_by_hand() -> None:
    found = {
        "frozen": report(6.0, 0.0),
        "active": report(5.9, 0.1, movement={"mean_angle": 2.0}),
        "memory": report(4.5, 0.0),
        "cache": report(5.0, 0.0),
        "all@1e-3": report(5.5, 0.4, learning_rate=1e-3),
        "all@1e-2": report(5.0, 2.0, learning_rate=1e-2),
        "all@1e-1": report(7.0, 5.0, learning_rate=1e-1),
    }
    figures = shift_probe.figures_of_study(found)
    assert figures["shift_gain_active"] == pytest.approx(0.1)
    assert figures["shift_gain_routing"] == pytest.approx(0.5)
    assert (figures["shift_gain_all"], figures["shift_forgetting_all"], figures["shift_rate_all"]) == (
        1.0,
        2.0,
        1e-2,
    )
    assert figures["shift_forgetting_all_least"] == 0.4
    assert figures["shift_gain_all_at_1e-1"] == -1.0
    assert figures["shift_angle_active"] == 2.0
    assert "shift_gain_frozen" not in figures


def test_a_text_is_named_by_its_content(tmp_path: Path, other: Path) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_bytes(other.read_bytes())
    assert shift_probe.text_digest(str(copy)) == shift_probe.text_digest(str(other))
    copy.write_bytes(other.read_bytes() + b"One more.\n")
    assert shift_probe.text_digest(str(copy)) != shift_probe.text_digest(str(other))
    assert shift_probe.text_digest("builtin") != shift_probe.text_digest("builtin:recipe")
    with pytest.raises(ConfigError, match=r"shift = 'builtin:poem': 'poem' is no kind"):
        shift_probe.text_digest("builtin:poem")


def test_a_plan_with_the_probe_ends_with_a_table_and_a_figure(
    text: Path, tmp_path: Path, other: Path
) -> None:
    pytest.importorskip("matplotlib")
    config = config_of(text, train__steps=6)
    dense = config_of(text, train__steps=6, model__feed_forward="dense", model__d_dense=32)
    reading = shift_probe.Reading(tokens=600, home_tokens=200, back_tokens=200, every=100)
    arms = (
        Arm("dense", dense, probes=(shift_probe.NAME,)),
        Arm("some", config, base="dense", probes=(shift_probe.NAME,)),
    )
    plan = Plan("shift", arms, (0,), shift=str(other), reading=reading)
    for job in plan.jobs(tmp_path / "out"):
        assert run_job(job, 1).status == "finished"
    rows = tabulate(plan, tmp_path / "out")
    assert rows[1].means["shift_gain_all"].num == 1
    assert "| gain, fine-tuning |" in (tmp_path / "out" / "table.md").read_text()
    drawn = (tmp_path / "out" / "domain-shift-some.svg").read_text()
    for said in ("reading new text", "back on the old text, everything still moving"):
        assert f"<!-- {said} -->" in drawn
    assert "<!-- some reads sums.txt; 1 random seed, 95 % intervals -->" in drawn
    assert not (tmp_path / "out" / "domain-shift-dense.svg").exists()
