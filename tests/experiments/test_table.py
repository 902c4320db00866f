"""The table of a sweep: figures by hand, the published ones beside them, paired differences, and nothing of
clock or folder."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from somelab.config import Config, override, preset
from somelab.experiments.probes.figures import figures_of
from somelab.experiments.runner.plan import Arm, Plan
from somelab.experiments.sweeps.published import ours_by_epoch
from somelab.experiments.sweeps.series import series_plan
from somelab.experiments.sweeps.table import (
    as_csv,
    as_record,
    at_a_glance,
    markdown,
    read_figures,
    remark_lines,
    rows_of,
    write_table,
)
from somelab.runs import RunFolder
from tests.experiments.builders import write_run

PLAN = Plan(
    "p",
    (Arm("x", Config()), Arm("y", Config(), base="x"), Arm("z", Config(), base="x")),
    (0, 1, 2),
    scale="micro",
)
# By hand: y - x is -0.1, -0.2, -0.3: mean -0.2, deviation 0.1, half width 4.3027 * 0.1 / sqrt(3) = 0.2484.
FIGURES = {
    "x": {
        0: {"val_loss": 4.0, "gini": 0.5},
        1: {"val_loss": 4.1, "gini": 0.5},
        2: {"val_loss": 4.2, "gini": 0.5},
    },
    "y": {0: {"val_loss": 3.9}, 1: {"val_loss": 3.9}, 2: {"val_loss": 3.9}},
    "z": {1: {"val_loss": 5.0}},
}


def test_means_intervals_and_differences_by_hand() -> None:
    x, y, z = rows_of(PLAN, FIGURES)
    assert x.means["val_loss"].mean == pytest.approx(4.1)
    assert x.means["val_loss"].half_width == pytest.approx(0.24841, abs=1e-4)
    assert x.means["gini"].half_width == 0
    assert x.differences == {}
    assert y.differences["val_loss"].mean == pytest.approx(-0.2)
    assert y.differences["val_loss"].half_width == pytest.approx(0.24841, abs=1e-4)
    assert "gini" not in y.differences
    # Only the seed that both have counts, and one seed gives no spread.
    assert z.differences["val_loss"].mean == pytest.approx(0.9)
    assert z.differences["val_loss"].num == 1
    assert z.seeds == (1,)


def test_the_page_says_what_differs_and_what_failed() -> None:
    failures = {("z", 0): "training diverged: loss nan; step 1 is saved in /some/where; lower it"}
    page = markdown(PLAN, rows_of(PLAN, FIGURES, failures))
    assert "| x | 256/4/64/1024/4 | 3 | 4.1000 ± 0.2484 | 0.500 |" in page
    assert "| y - x | 3 | -0.2000 ± 0.2484 |" in page
    assert "| z - x | 1 | +0.9000 |" in page
    assert "- z seed 0 failed: training diverged: loss nan\n" in page
    assert "/some/where" not in page


def test_at_a_glance_the_main_figures_and_what_differs() -> None:
    heads, body = at_a_glance(PLAN.measures, rows_of(PLAN, FIGURES))
    assert heads == ["arm", "D/L/E/F/K", "seeds", "val_loss", "Gini", "val_loss, difference"]
    assert body == [
        ["x", "256/4/64/1024/4", "3", "4.1000 ± 0.2484", "0.500", ""],
        ["y", "256/4/64/1024/4", "3", "3.9000", "", "-0.2000 ± 0.2484 from x"],
        ["z", "256/4/64/1024/4", "1", "5.0000", "", "+0.9000 from x"],
    ]
    assert at_a_glance(PLAN.measures, rows_of(PLAN, {}))[1][1] == ["y", "256/4/64/1024/4", "0", ""]


def test_arms_that_a_scale_has_made_alike_are_named() -> None:
    plan = series_plan("series-a", "micro", (0,))
    (line,) = remark_lines(plan, rows_of(plan, {}))
    assert line.startswith("a3, a5 have one shape here (96/3/16/256/2) and several as presets")
    assert f"- {line}\n" in markdown(plan, rows_of(plan, {}))
    assert as_record(plan, rows_of(plan, {}))["remarks"] == [line]
    full = series_plan("series-a", "full", (0,))
    assert remark_lines(full, rows_of(full, {})) == []
    rules = series_plan("versions", "micro", (0,))  # alike by intent: one backbone, other rules
    assert remark_lines(rules, rows_of(rules, {})) == []


def test_an_interval_that_excludes_zero_is_bold() -> None:
    figures = {**FIGURES, "y": {0: {"val_loss": 3.0}, 1: {"val_loss": 3.11}, 2: {"val_loss": 3.2}}}
    assert "| y - x | 3 | **-0.9967 ± 0.0143** |" in markdown(PLAN, rows_of(PLAN, figures))


def test_published_figures_stand_beside_the_preset_they_are_of() -> None:
    plan = Plan(
        "p",
        (
            Arm("a1", preset("a1").config, preset="a1"),
            Arm("v7", preset("v7").config, preset="v7"),
            PLAN.arms[0],
        ),
    )
    a1, v7, x = rows_of(plan, {})
    assert a1.published == {
        "loss_with_padding": 0.7629,
        "ppl_with_padding": 2.14,
        "training_gini_with_padding": 0.7912,
        "training_entropy_bits_with_padding": 4.0851,
    }
    assert v7.published == {"val_loss": 2.6036, "val_ppl": 13.51, "gini": 0.653}
    assert x.published == {}
    page = markdown(plan, [a1, v7, x])
    assert "published ppl_with_padding" in page
    assert "| 0.7629 | 2.14 |  |  | 0.7912 | 4.0851 |" in page
    assert "| a1 | ppl_with_padding | 2.43 | 2.24 | 2.16 | 2.14 |" in page
    assert "| v7 | val_loss | 3.1531 | 2.785 | 2.6306 | 2.6036 |" in page


def test_ours_by_epoch_stands_below_the_published_curve(tmp_path: Path) -> None:
    """Two seeds of four steps: a step for each published epoch."""
    config = override(preset("a1").config, {"train.steps": 4})
    plan = Plan("p", (Arm("a1", config, preset="a1"), Arm("x", config)), (0, 1))
    for job in plan.jobs(tmp_path):
        run = RunFolder.create(job.folder, config, {"name": "run"}, {}, "{}")
        (run.path / "run.json").write_text(json.dumps(run.facts()))  # without sums: written by hand
        loss = 2.0 + job.seed
        records = [{"kind": "train", "step": step, "loss": loss / step} for step in range(1, 5)]
        records.append({"kind": "final", "step": 4, "loss_with_padding": 0.5 + job.seed})
        layers = [{"gini": 0.1, "entropy_bits": 1.0, "training_gini_with_padding": 0.6}] * 2
        for name, found in (("metrics", records), ("layers", [{"step": 2, "layers": layers}])):
            (run.path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in found))
    ours = ours_by_epoch(plan, tmp_path)
    assert ours.keys() == {"a1"}
    assert [ours["a1"][epoch]["train_loss"] for epoch in (1, 2, 4)] == [2.5, 1.25, 0.625]
    assert ours["a1"][4]["loss_with_padding"] == 1.0
    rows = rows_of(plan, {}, epochs=ours)
    page = markdown(plan, rows)
    assert "| a1 | train_loss | 1.2636 | 0.9201 |" in page
    assert "| a1 | train_loss, ours | 2.5 | 1.25 | 0.83333 | 0.625 |" in page
    assert "| a1 | training_gini_with_padding, ours |  | 0.6 |  |  |" in page
    assert as_record(plan, rows)["arms"][0]["epochs"]["4"]["loss_with_padding"] == 1.0


def test_the_figures_of_the_best_checkpoint_are_not_taken_for_the_last() -> None:
    """a6: epoch 1 is the best, and epoch 4 the last."""
    (row,) = rows_of(Plan("p", (Arm("a6", preset("a6").config, preset="a6"),)), {})
    assert row.published["training_gini_with_padding"] == 0.922
    assert row.published["loss_with_padding"] == 1.9682


def test_csv_and_json_hold_the_same() -> None:
    rows = rows_of(PLAN, FIGURES)
    lines = list(csv.DictReader(io.StringIO(as_csv(PLAN, rows))))
    assert [line["arm"] for line in lines] == ["x", "y", "z"]
    assert float(lines[1]["difference_val_loss_mean"]) == pytest.approx(-0.2)
    assert lines[2]["difference_val_loss_low"] == ""
    record = as_record(PLAN, rows)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["arms"][1]["differences"]["val_loss"]["mean"] == pytest.approx(
        float(lines[1]["difference_val_loss_mean"])
    )
    assert record["arms"][2]["differences"]["val_loss"]["low"] is None


def test_tables_are_read_from_run_folders_and_do_not_know_where_they_lie(tmp_path: Path) -> None:
    written: list[bytes] = []
    for name in ("here", "there"):
        out = tmp_path / name
        for job in PLAN.jobs(out):
            if job.key != ("z", 2):
                write_run(job.folder, job.config, {"val_loss": 4.0 + job.seed, "gini": 0.25, "tokens": 100})
        figures = read_figures(PLAN, out)
        assert figures["z"].keys() == {0, 1}
        assert figures["x"][1]["val_loss"] == 5.0
        write_table(PLAN, rows_of(PLAN, figures), out)
        written.append(b"".join((out / f"table.{kind}").read_bytes() for kind in ("md", "csv", "json")))
    assert written[0] == written[1]


def test_figures_of_a_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(run, Config(), {"val_loss": 1.5, "gini": 0.25, "crowding": 0.5, "tokens": 100})
    records = [(1, [0, 0]), (3, [2, 1]), (4, [4, 1])]
    lines = [
        json.dumps({"step": step, "layers": [{"respawns": n} for n in layers]}) for step, layers in records
    ]
    (run / "layers.jsonl").write_text("\n".join(lines) + "\n")
    (run / "probes").mkdir()
    (run / "probes" / "cost.json").write_text('{"gravity_share": 0.125}')
    figures = figures_of(RunFolder(run))
    # Of five rebirths three were there at step 3, three quarters of the way.
    assert (figures["respawns"], figures["late_respawns"]) == (5.0, 2.0)
    assert (figures["gini"], figures["gini_middle"], figures["trainable"], figures["gravity_share"]) == (
        0.25,
        0.25,
        10.0,
        0.125,
    )


def test_a_run_that_has_not_ended_has_no_figures(tmp_path: Path) -> None:
    write_run(tmp_path / "run", Config(), {"val_loss": 1.5}, finished=False)
    assert figures_of(RunFolder(tmp_path / "run")) == {}
