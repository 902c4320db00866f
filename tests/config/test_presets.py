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

SHARED = Path(__file__).parents[2].parent / "shared"
PUBLISHED = json.loads(files("somelab.config").joinpath("published.json").read_text(encoding="utf-8"))
# Where the reports' tables use another name than the tree.
TRAINING = {
    "dataset": "data.source",
    "batch_size": "train.batch_size",
    "learning_rate": "train.learning_rate",
    "epochs": "train.epochs",
    "train_subset_size": "data.train_subset_size",
    "val_subset_size": "data.val_subset_size",
    "training_temperature": "router.temperature",
    "eval_temperature": "router.eval_temperature",
    "adamw_betas": "train.betas",
    "weight_decay": "train.weight_decay",
    "clip": "train.clip",
    "lr_warmup": "train.warmup_fraction",
    "padding_in_loss": "data.padding_in_loss",
    "causal_mask": "model.causal",
}
OTHER_NAMES = {
    "router.width_multiple": "router.width",
    "gravity.use_alpha": "gravity.attraction",
    "gravity.use_beta": "gravity.peer_pull",
    "gravity.use_delta": "gravity.decay",
}
# What the tables have beside their groups.
OUTSIDE_GROUPS = {
    "scoring": "router.scoring",
    "usage": "gravity.usage",
    "key_norm": "gravity.norm",
    "pair_inertia": "gravity.inertia",
    "dense_ffn_width": "model.d_dense",
}
# What they say beside a setting: scores are fp32 and gate mass is averaged in every version here, and a norm
# that follows decay in the same step cancels it, so that decay is off.
IN_WORDS = {"cosine, fp32": "cosine", "ema of count and mass": "ema", "unit, after decay": "unit"}
# Of their training settings, those that are no setting of the tree, and how each is held.
NO_SETTING = {
    "lr_schedule": "cosine over all steps",  # final_lr_fraction is 0
    "precision": "fp16 autocast with gradient scaler",  # that of the machine
    "steps": None,  # counted below
}
# What a version or a default of the tree already is, and need not be given again.
IMPLIED = {
    "data.padding_in_loss",
    "model.causal",
    "gravity.attraction",
    "gravity.peer_pull",
    "gravity.decay",
    "gravity.respawn_threshold",
}
# Where a source contradicts itself or its code does otherwise than it says, and the preset's note says so.
KNOWN = {
    "v3.5": {"router.temperature": 1.0},  # by epoch
    "v5-mlp": {"router.width": 1.0},
    "gpt2-some": {"gravity.decay": False},
    "gpt2-textbooks-some": {"gravity.decay": False},
}


def read_tables(name: str) -> dict[str, Any]:
    """The tables in the words of this package; the files have the older ones."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"the reports' tables are not beside this repository ({path})")
    return json.loads(
        with_new_names(path.read_text(encoding="utf-8"))
        .replace("the seed gives", "the report gives")
        .replace("the seed breaks off", "the report ends")
    )


def report_runs() -> dict[str, dict[str, Any]]:
    tables = read_tables("seed_runs.json")
    return {run["name"]: run for run in [*tables["runs"], *tables["partial_runs"]]}


def source_runs() -> dict[str, dict[str, Any]]:
    """The runs of the sources by the name of their preset."""
    names = {run["name_there"]: name for name, run in PUBLISHED["runs"].items() if run["name_there"]}
    runs = read_tables("source_runs.json")["runs"]
    return {names[run["name"]]: run for run in runs if run["name"] in names}


def settings_of(table: dict[str, Any]) -> dict[str, Any]:
    """A run's table as dotted settings."""
    found = {
        f"{group}.{key}": value
        for group in ("model", "experts", "router", "gravity")
        for key, value in (table.get(group) or {}).items()
    }
    training = {TRAINING[key]: value for key, value in table.get("training", {}).items() if TRAINING.get(key)}
    found = {OTHER_NAMES.get(key, key): value for key, value in (found | training).items()}
    found |= {
        name: IN_WORDS.get(table[key], table[key]) for key, name in OUTSIDE_GROUPS.items() if key in table
    }
    if found.get("data.source") == "roneneldan/TinyStories":
        found["data.source"] = "tinystories"
    return {key: tuple(value) if isinstance(value, list) else value for key, value in found.items()}


def test_every_published_run_is_a_preset() -> None:
    assert set(PUBLISHED["runs"]) <= set(PRESETS)
    assert set(report_runs()) <= set(PUBLISHED["runs"])
    # One run is in two reports.
    twice = {"v3-runs2-a1"}
    there = {run["name"] for run in read_tables("source_runs.json")["runs"]}
    assert there - twice == {run["name_there"] for run in PUBLISHED["runs"].values() if run["name_there"]}
    assert len(source_runs()) == len(there) - len(twice)


@pytest.mark.parametrize("name", [name for name, run in PUBLISHED["runs"].items() if run["name_there"]])
def test_a_preset_has_what_its_sources_say(name: str) -> None:
    run, one = source_runs()[name], preset(name)
    assert one.version == PUBLISHED["runs"][name]["version"]
    for field, value in {**settings_of(run), **KNOWN.get(name, {})}.items():
        assert value_of(one.config, field) == value, field
    provenance = {
        OTHER_NAMES.get(key, TRAINING.get(key.removeprefix("training."), key)): kind
        for key, kind in run["provenance"].items()
    }
    for field, kind in provenance.items():
        if field not in fields() or field in IMPLIED or (name == "v3.5" and field == "router.temperature"):
            continue
        where = one.elsewhere if kind == "notebook" or field in KNOWN.get(name, {}) else one.stated
        assert field in where, (field, kind)
        assert kind == "notebook" or field not in one.elsewhere, (field, kind)
    assert one.config.train.final_lr_fraction == 0
    assert one.config.model.attention_init == "xavier"
    assert (one.config.router.init == "normal") == ("query_network_init" in run)
    assert one.config.gravity.count_padding == run["training"]["padding_in_loss"]
    assert one.config.gravity.decay or run.get("key_norm") in ("unit, after decay", None)


@pytest.mark.parametrize("name", [name for name, run in PUBLISHED["runs"].items() if run["name_there"]])
def test_nothing_that_a_source_states_is_passed_over(name: str) -> None:
    """Every training setting of a table is compared, or of a kind that is no setting; steps are those that
    subset, batch and epochs give, an incomplete batch left out."""
    training, config = source_runs()[name]["training"], preset(name).config
    assert training.keys() <= TRAINING.keys() | NO_SETTING.keys()
    assert all(training.get(key, value) == value for key, value in NO_SETTING.items() if value is not None)
    assert all(field in fields() for field in settings_of(source_runs()[name]))
    if "steps" in training:
        assert config.data.train_subset_size is not None
        assert config.train.epochs is not None
        per_epoch = config.data.train_subset_size // config.train.batch_size
        whole = -(-config.data.train_subset_size // config.train.batch_size)
        assert training["steps"] in (per_epoch * config.train.epochs, whole * config.train.epochs)


@pytest.mark.parametrize("name", [name for name, run in PUBLISHED["runs"].items() if not run["name_there"]])
def test_the_first_models_have_what_their_table_says(name: str) -> None:
    run, one = report_runs()[name], preset(name)
    assert one.version == run["version"]
    stated = settings_of({**run, "router": {"kind": run["router"]}} if "router" in run else run)
    assert stated or run["stated"] == {"same_as": "b1"}
    for field, value in stated.items():
        assert value_of(one.config, field) == value, field
    # Not in the report itself: known from the parameter counts.
    assert set(stated) - {"experts.init", "router.kind"} <= one.stated


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


def test_the_packaged_figures_are_those_of_the_tables() -> None:
    for name, run in source_runs().items():
        packaged = PUBLISHED["runs"][name]
        assert packaged["parameters"] == run["parameters_millions"], name
        assert packaged["steps"] == run["training"].get("steps", run["steps_recomputed"])
        assert packaged["with_padding"] == run["training"]["padding_in_loss"]
        assert (packaged["epochs"], packaged["final"]) == (run["epochs"], run["final"])
    for name, run in report_runs().items():
        packaged = PUBLISHED["runs"][name]
        assert packaged["parameters"] == (run.get("parameters_millions") or packaged["parameters"])
        if packaged["name_there"]:
            continue
        assert packaged["steps"] == run.get("training", {}).get("steps")
        assert (packaged["epochs"], packaged["final"], packaged["note"]) == (
            run.get("epochs", []),
            run["final"],
            run.get("note"),
        )
    assert PUBLISHED["studies"] == read_tables("seed_runs.json")["studies"]


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


@pytest.mark.parametrize("name", [name for name, run in PUBLISHED["runs"].items() if run["parameters"]])
def test_counts_agree_or_the_contradiction_is_named(name: str) -> None:
    one = preset(name)
    count = count_parameters(one.config)
    found = round(count.total / 1e6, 2), round(count.trainable / 1e6, 2)
    assert one.published is not None
    stated = one.published.total, one.published.trainable
    contradictions = {"mvp-v2": "needs 32 experts", "v3-diversity": "need a vocabulary of 8,192"}
    assert (found == stated) == (name not in contradictions)
    assert contradictions.get(name, "") in one.note
    if name == "v3-diversity":
        smaller = count_parameters(override(one.config, {"model.vocab_size": 8192}))
        assert (round(smaller.total / 1e6, 2), round(smaller.trainable / 1e6, 2)) == stated


@pytest.mark.parametrize("name", ["v3-capacity", "v3r-v1", "v3-width-768"])
def test_what_no_report_gives_is_filled(name: str) -> None:
    one = preset(name)
    assert "data.val_subset_size" in one.filled
    assert one.config.data.val_subset_size == preset("v2-pro").config.data.val_subset_size == 4_000


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
