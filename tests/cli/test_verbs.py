"""The verbs as a person or a program uses them: what is printed, and that it can be read back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from somelab.cli.main import main
from somelab.config import PRESETS, digest, from_yaml, override, parse, preset, scaled
from somelab.config.fields import fields

COMPARED = [name for name in PRESETS if (figures := preset(name).published) and figures.total is not None]


def printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(argv) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_presets_lists_all_by_series(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "presets").splitlines()
    first_words = [line.split()[0] for line in lines if line.strip()]
    assert set(PRESETS) <= set(first_words)
    row = next(line for line in lines if line.startswith("a1 "))
    assert row.split() == ["a1", "v4", *preset("a1").title.split(), "384/8/64/1024/4", "419.14", "15.77"]
    assert max(len(line.rstrip()) for line in lines) <= 100


def test_presets_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    entries = json.loads(printed(capsys, "presets", "--json"))
    assert [entry["name"] for entry in entries] == list(PRESETS)
    for entry in entries:
        assert {"name", "title", "version", "source", "stated", "filled", "config"} <= set(entry)
        assert parse(entry["config"]) == preset(entry["name"]).config
        assert sorted([*entry["stated"], *entry["filled"]]) == sorted(fields())


def test_show_prints_a_file_that_reads_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(printed(capsys, "show", "a1", "--scale", "mini", "--experts.top-k", "2"))
    expected = override(scaled(preset("a1").config, "mini"), {"experts.top_k": 2})
    assert from_yaml(path) == expected
    again = printed(capsys, "show", "--config", str(path), "--json")
    assert parse(json.loads(again)["config"]) == expected
    assert json.loads(again)["digest"] == digest(expected)


def test_settings_are_put_in_after_the_scale(capsys: pytest.CaptureFixture[str]) -> None:
    shown = json.loads(printed(capsys, "show", "a1", "--model.num-layers", "7", "--scale", "micro", "--json"))
    assert shown["config"]["model"]["num_layers"] == 7
    assert shown["config"]["model"]["d_model"] == 96


def test_a_file_can_be_scaled_and_changed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("model: {d_model: 512, num_heads: 8}\ntrain: {steps: 10}\n")
    shown = json.loads(
        printed(capsys, "show", "--config", str(path), "--scale", "small", "--train.minutes", "1", "--json")
    )
    assert shown["config"]["model"]["d_model"] == 256
    assert (shown["config"]["train"]["steps"], shown["config"]["train"]["minutes"]) == (None, 1)


def test_show_explains_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "show", "--fields")
    rows = {line.split()[0]: line for line in text.splitlines() if "." in line.split(" ")[0]}
    assert set(rows) == set(fields())
    for name, field in fields().items():
        assert field.kind in rows[name]
        assert field.doc in rows[name]
    assert " 384 " in next(
        line
        for line in printed(capsys, "show", "a1", "--fields").splitlines()
        if line.startswith("model.d_model")
    )
    entries = json.loads(printed(capsys, "show", "--fields", "--json"))
    assert [entry["name"] for entry in entries] == list(fields())


def test_params_agree_with_the_reports_but_for_the_known_slip(capsys: pytest.CaptureFixture[str]) -> None:
    entries = json.loads(printed(capsys, "params", *COMPARED, "--json"))
    assert [entry["preset"] for entry in entries] == COMPARED
    for entry in entries:
        figures = preset(entry["preset"]).published
        assert figures is not None
        assert (entry["published_total"], entry["published_trainable"]) == (figures.total, figures.trainable)
        assert entry["agrees"] is (entry["preset"] not in ("mvp-v2", "v3-diversity"))
        assert round(entry["total"] / 1e6, 2) == figures.recount_total
        assert round(entry["trainable"] / 1e6, 2) == figures.recount_trainable
        assert entry["total"] == entry["trainable"] + entry["frozen"]
        assert entry["trainable"] <= entry["active"] <= entry["total"]
        assert entry["bytes"] >= 4 * entry["total"]
        assert entry["flops_per_token"] > 0
        assert entry["note"] == (preset(entry["preset"]).note or None)


def test_params_compare_only_what_the_seed_ran(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["a1", "--scale", "mini"], ["a1", "--experts.num-experts", "32"], ["v2-pro"], ["demo"]):
        (entry,) = json.loads(printed(capsys, "params", *argv, "--json"))
        assert entry["agrees"] is None
    (slip,) = json.loads(printed(capsys, "params", "mvp-v2", "--experts.num-experts", "32", "--json"))
    assert round(slip["total"] / 1e6, 2) == slip["published_total"] == 72.80
    (same,) = json.loads(printed(capsys, "params", "a1", "--scale", "full", "--experts.top-k", "4", "--json"))
    assert same["agrees"] is True


def test_params_of_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "tiny.yaml"
    path.write_text(
        "model: {d_model: 32, num_layers: 1, num_heads: 1, vocab_size: 512, seq_len: 32, feed_forward: "
        "none}\n"
    )
    (entry,) = json.loads(printed(capsys, "params", "--config", str(path), "--json"))
    assert entry["preset"] == str(path)
    assert (entry["published_total"], entry["agrees"], entry["note"]) == (None, None, None)
    assert entry["frozen"] == 0


def test_params_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "params", "a1", "mvp-v2")
    row = next(line for line in text.splitlines() if line.startswith("a1 "))
    assert row.split()[:3] == ["a1", "419.14", "15.77"]
    assert row.split()[-1] == "yes"
    assert "1 of 2 compared with the reports agree to 0.01 M" in text
    assert "mvp-v2 contradicts itself: 72.80M in total needs 32 experts" in text
