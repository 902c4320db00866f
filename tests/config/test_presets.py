"""The presets against the reports' own tables: every run, field by field, and every figure."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from somelab.config import PRESETS, override, preset
from somelab.config.fields import fields, value_of
from somelab.config.presets.demo import BASELINE
from somelab.disk.old_names import with_new_names
from somelab.errors import ConfigError
from somelab.model.count import count_parameters

REPORT_TABLES = Path(__file__).parents[2].parent / "shared" / "seed_runs.json"
PUBLISHED = json.loads(files("somelab.config").joinpath("published.json").read_text(encoding="utf-8"))
# Where the reports' tables use another name than the tree.
TRAINING = {
    "batch_size": "train.batch_size",
    "learning_rate": "train.learning_rate",
    "epochs": "train.epochs",
    "train_subset_size": "data.train_subset_size",
    "val_subset_size": "data.val_subset_size",
    "training_temperature": "router.temperature",
    "eval_temperature": "router.eval_temperature",
}
# In the tables, but not in the documents themselves: known from the parameter counts.
IMPLIED = {"report 004": {"experts.init", "router.kind"}, "report 002": {"router.kind"}}


def read_tables() -> dict[str, Any]:
    """The tables in the words of this package; the file has the older ones."""
    text = REPORT_TABLES.read_text(encoding="utf-8")
    return json.loads(
        with_new_names(text)
        .replace("the seed gives", "the report gives")
        .replace("the seed breaks off", "the report ends")
    )


def report_runs() -> dict[str, dict[str, Any]]:
    if not REPORT_TABLES.exists():
        pytest.skip(f"the reports' tables are not beside this repository ({REPORT_TABLES})")
    tables = read_tables()
    return {run["name"]: run for run in [*tables["runs"], *tables["partial_runs"]]}


def settings_of(table: dict[str, Any]) -> dict[str, Any]:
    """A run's table as dotted settings."""
    found = {f"model.{key}": value for key, value in table.get("model", {}).items()}
    found |= {f"experts.{key}": value for key, value in table.get("experts", {}).items()}
    found |= {f"gravity.{key}": value for key, value in table.get("gravity", {}).items()}
    found |= {TRAINING[key]: value for key, value in table.get("training", {}).items() if key != "steps"}
    if "router" in table:
        found["router.kind"] = table["router"].removesuffix(" x2")
    return found


def dotted(key: str) -> str:
    """The dotted name of a flat key of a partial run."""
    if key == "router":
        return "router.kind"
    return TRAINING.get(key) or next(name for name, field in fields().items() if field.key == key)


def test_every_published_run_is_a_preset() -> None:
    assert set(PUBLISHED["runs"]) <= set(PRESETS)
    assert set(report_runs()) == set(PUBLISHED["runs"])


@pytest.mark.parametrize("name", PUBLISHED["runs"])
def test_a_preset_has_what_its_table_says(name: str) -> None:
    run, one = report_runs()[name], preset(name)
    assert one.version == run["version"]
    stated = settings_of(run)
    stated |= {dotted(key): value for key, value in run.get("stated", {}).items() if key != "same_as"}
    elsewhere = settings_of(run.get("settings_published_elsewhere", {}))
    assert stated or elsewhere or run["stated"] == {"same_as": "b1"}
    for field, value in {**elsewhere, **stated}.items():
        assert value_of(one.config, field) == value, field
    assert set(stated) - IMPLIED.get(one.source, set()) <= one.stated
    assert set(elsewhere) <= one.stated
    assert set(elsewhere) - set(stated) <= one.elsewhere


@pytest.mark.parametrize("name", ["a1", "a2", "a3", "a4", "a5", "a6", "b1", "b2", "b3", "c-base"])
def test_series_a_to_c_share_their_common_settings(name: str) -> None:
    one = preset(name)
    assert one.config.router.eval_temperature == 0.5
    assert one.config.gravity.warmup_steps == 400
    assert one.config.train.betas == (0.9, 0.95)
    assert (one.config.train.weight_decay, one.config.train.clip, one.config.train.warmup_fraction) == (
        0.1,
        1.0,
        0.0,
    )
    assert one.provenance("router.eval_temperature") == "elsewhere"
    assert one.provenance("experts.top_k") == "stated"
    assert one.provenance("gravity.inertia") == "v4"
    assert one.provenance("model.backbone") == "filled"


def test_c_base_is_b1_again() -> None:
    assert preset("c-base").config == preset("b1").config


@pytest.mark.parametrize("name", PUBLISHED["runs"])
def test_published_figures_reach_the_preset(name: str) -> None:
    run, one = PUBLISHED["runs"][name], preset(name)
    figures = one.published
    assert figures is not None
    assert one.source.startswith(run["source"])
    assert {"total": figures.total, "trainable": figures.trainable} == (
        run["parameters"] or {"total": None, "trainable": None}
    )
    recount = {"total": figures.recount_total, "trainable": figures.recount_trainable}
    assert recount == (run["recount"] or {"total": None, "trainable": None})
    assert (figures.steps, list(figures.epochs), figures.final, figures.note) == (
        run["steps"],
        run["epochs"],
        run["final"],
        run["note"],
    )


def test_the_packaged_figures_are_those_of_the_reports_tables() -> None:
    for name, run in report_runs().items():
        packaged = PUBLISHED["runs"][name]
        assert packaged["parameters"] == run.get("parameters_millions")
        assert packaged["recount"] == run.get("recount_millions")
        assert packaged["steps"] == run.get("training", {}).get("steps")
        assert (packaged["epochs"], packaged["final"], packaged["note"]) == (
            run.get("epochs", []),
            run["final"],
            run.get("note"),
        )
    assert PUBLISHED["studies"] == read_tables()["studies"]


def test_the_slips_of_the_reports_are_noted() -> None:
    assert "needs 32 experts, not the stated 64" in preset("mvp-v2").note
    assert preset("mvp-v2").config.experts.num_experts == 64
    for name in ("v3r-v2", "v3r-v3"):
        assert "0.79 %" in preset(name).note
        assert round(100 * 21.55 / 2711.15, 2) == 0.79
    assert "0.904/2.848" in preset("a6").note
    assert "0.922/2.536" in preset("a6").note


def test_mvp_v5_has_its_rates_filled() -> None:
    one = preset("mvp-v5")
    assert {"gravity.alpha", "gravity.beta", "gravity.delta"} <= one.filled
    assert "gravity.theta" in one.stated
    assert one.config == preset("mvp-v3").config


def test_partial_runs_are_filled_from_the_v3_report() -> None:
    report = preset("v3r-v1").config
    for name in (
        "v2-pro",
        "v3-capacity",
        "v3-depth-vs-width",
        "v3-batch-vs-sequence",
        "v3-orthogonal",
        "v3.5",
    ):
        one = preset(name)
        shape = one.config.model
        assert (shape.d_model, shape.num_layers, shape.num_heads) == (512, 10, 8)
        assert {"model.d_model", "model.num_layers", "model.num_heads"} <= one.filled
        assert one.config.experts.d_ffn == report.experts.d_ffn == 1536
    assert report.gravity.alpha == preset("v2-pro").config.gravity.alpha == 0.015
    assert "gravity.alpha" in preset("v3r-v1").filled


@pytest.mark.parametrize(
    ("name", "base", "changes"),
    [
        ("d1", "a6", {"gravity.beta_layers": (1.0, 0.5)}),
        ("d2", "a6", {"gravity.frozen_layers": (False, True)}),
        ("d3", "a6", {"router.grounding": 0.1}),
        ("no-ffn", "a1", {"model.feed_forward": "none"}),
        ("dense", "a1", {"model.feed_forward": "dense"}),
        ("frozen-dense", "a1", {"model.feed_forward": "frozen_dense"}),
        ("moe", "a1", {"model.feed_forward": "moe", "router.balance_loss": 0.01}),
        ("fixed-keys", "a1", {"gravity.keys": "fixed"}),
        ("gradient-keys", "a1", {"gravity.keys": "gradient"}),
        ("modern", "a1", {"model.backbone": "modern"}),
    ],
)
def test_a_variant_differs_just_in_what_it_is_about(name: str, base: str, changes: dict[str, Any]) -> None:
    one, other = preset(name), preset(base)
    differing = {
        field: value_of(one.config, field)
        for field in fields()
        if value_of(one.config, field) != value_of(other.config, field)
    }
    assert differing == changes
    assert one.published is None
    assert (set(changes) <= one.stated) == (base == "a6")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_presents_itself(name: str) -> None:
    one = preset(name)
    assert one.name == name
    assert 0 < len(one.title) <= 34  # fits its column at 100 columns
    assert "\n" not in one.title + one.note + one.source
    assert one.stated <= set(fields())
    assert one.elsewhere <= one.stated
    assert one.stated | one.filled == set(fields())


def test_the_demo_is_the_recipe_made_small_and_needs_nothing() -> None:
    config, some = preset("demo").config, preset("some").config
    assert config.data.source == "builtin:recipe"
    assert (config.train.minutes, config.train.precision) == (3, "fp32")
    assert config.gravity == some.gravity
    assert config.router == some.router
    assert config.model.d_model < some.model.d_model


def test_the_baseline_of_the_demo_trains_as_many_weights() -> None:
    config = preset("demo").config
    some, dense = count_parameters(config), count_parameters(override(config, BASELINE))
    assert dense.frozen == 0
    assert dense.trainable == pytest.approx(some.trainable, rel=0.002)


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean v3-orthogonal"):
        preset("v3-ortogonal")
    with pytest.raises(ConfigError, match="did you mean a1"):
        preset("A1")
