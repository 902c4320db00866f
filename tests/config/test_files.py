"""Ways in and out of a configuration: mappings, YAML, overrides; and that each mistake is one line with a
remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from somelab.config import PRESETS, Config, digest, from_yaml, override, parse, preset, scaled, to_yaml
from somelab.config.fields import fields
from somelab.errors import ConfigError


def refused(tree: object, origin: str = "") -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse(tree, origin)
    assert "\n" not in str(caught.value)
    return caught.value


def test_what_is_not_given_takes_its_default() -> None:
    assert parse({}) == Config()
    assert parse({"experts": {"top_k": 2}}).experts.top_k == 2
    assert parse({"experts": None}) == Config()


@pytest.mark.parametrize(
    ("tree", "field", "value", "problem", "remedy"),
    [
        ({"experts": {"top_k": 0}}, "experts.top_k", 0, "is less than 1", "give an integer >= 1"),
        ({"experts": {"top_k": "x"}}, "experts.top_k", "x", "is not a whole number", "give an integer >= 1"),
        ({"experts": {"top_k": 1.5}}, "experts.top_k", 1.5, "is not a whole number", "give an integer >= 1"),
        ({"experts": {"top_k": True}}, "experts.top_k", True, "is not a number", "give an integer >= 1"),
        ({"experts": {"top_k": None}}, "experts.top_k", None, "cannot be null", "give an integer >= 1"),
        ({"gravity": {"alpha": -0.1}}, "gravity.alpha", -0.1, "is less than 0", "give a number >= 0"),
        (
            {"gravity": {"ema_decay": 1}},
            "gravity.ema_decay",
            1,
            "is not less than 1",
            "give a number >= 0 and < 1",
        ),
        ({"gravity": {"delta": 2}}, "gravity.delta", 2, "is more than 1", "give a number >= 0 and <= 1"),
        ({"router": {"width": 0}}, "router.width", 0, "is not more than 0", "give a number > 0"),
        (
            {"gravity": {"alpha": "nan"}},
            "gravity.alpha",
            "nan",
            "is not a finite number",
            "give a number >= 0",
        ),
        (
            {"router": {"kind": "mpl"}},
            "router.kind",
            "mpl",
            "is not one of its values",
            "choose one of none, linear, mlp",
        ),
        ({"model": {"bias": 3}}, "model.bias", 3, "is not true or false", "choose one of true, false, null"),
        ({"data": {"source": 3}}, "data.source", 3, "is not text", "give text"),
        (
            {"train": {"betas": [0.9]}},
            "train.betas",
            [0.9],
            "has too few values",
            "give a list of 2 numbers >= 0 and < 1",
        ),
        (
            {"gravity": {"beta_layers": 3}},
            "gravity.beta_layers",
            3,
            "is not a list",
            "give a list of numbers >= 0, e.g. 1,2 or [1, 2]",
        ),
        (
            {"gravity": {"beta_layers": [1, -2]}},
            "gravity.beta_layers.1",
            -2,
            "is less than 0",
            "give a list of numbers >= 0",
        ),
        (
            {"gravity": {"extra": {"mine": "x"}}},
            "gravity.extra.mine",
            "x",
            "is not a number",
            "give a number",
        ),
        ({"experts": 3}, "experts", 3, "is not a group of settings", "give a mapping of names to values"),
        (
            {"router": {"gradient": False}},
            "router.gradient",
            False,
            "nothing would train the query network of router.kind = linear",
            "set experts.reads to query, so that the experts' outputs train it, or router.kind to none",
        ),
        (
            {"experts": {"reads": "query"}, "router": {"kind": "none"}},
            "experts.reads",
            "query",
            "with router.kind = none the query is the token itself",
            "set it to token, or choose router.kind = linear or mlp",
        ),
        (
            {"model": {"num_heads": 3}},
            "model.num_heads",
            3,
            "does not divide d_model = 256",
            "choose one of [1, 2, 4, 8, 16, 32, 64]",
        ),
    ],
)
def test_a_mistake_names_field_value_problem_and_remedy(
    tree: dict[str, object], field: str, value: object, problem: str, remedy: str
) -> None:
    error = refused(tree)
    assert (error.field, error.value, error.problem, error.remedy) == (field, value, problem, remedy)


@pytest.mark.parametrize(
    ("tree", "field", "meant"),
    [
        ({"experts": {"topk": 8}}, "experts.topk", "experts.top_k"),
        ({"top_k": 8}, "top_k", "experts.top_k"),
        ({"router": {"top_k": 8}}, "router.top_k", "experts.top_k"),
        ({"expert": {"top_k": 8}}, "expert", "experts"),
        ({"dropout": 0.1}, "dropout", "model.dropout or router.dropout"),
        ({"train": {"lr": 1}}, "train.lr", "train.learning_rate"),
        ({"gravity": {"lerning_rate": 1}}, "gravity.lerning_rate", "train.learning_rate"),
        ({"router": {"drpout": 1}}, "router.drpout", "router.dropout"),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(tree: dict[str, object], field: str, meant: str) -> None:
    error = refused(tree)
    assert (error.field, error.problem, error.remedy) == (field, "is not a setting", f"did you mean {meant}?")


def test_a_key_that_resembles_none_says_where_all_are_listed() -> None:
    assert refused({"gravity": {"zzz": 1}}).remedy == "`somelab show --fields` lists all settings"
    assert refused({3: 4}).remedy == "`somelab show --fields` lists all settings"


def test_only_the_first_mistake_is_told_and_the_rest_counted() -> None:
    error = refused({"experts": {"top_k": 0, "topk": 1}, "router": {"kind": "x"}}, origin="run.yaml")
    assert error.field == "experts.top_k"
    assert error.remedy == "give an integer >= 1 (in run.yaml) (and 2 more)"


def test_a_long_value_is_abridged() -> None:
    assert len(str(refused({"experts": {"top_k": "9" * 5000}}))) < 200


@pytest.mark.parametrize("tree", [[], "text", 3, None])
def test_what_is_no_mapping_is_refused(tree: object) -> None:
    assert refused(tree).problem == "is not a mapping of groups"


def test_a_band_too_high_for_any_float_is_still_a_plain_refusal() -> None:
    assert refused({"router": {"entropy_band": [0.5, 900]}}).remedy == "lower the band"
    assert "raise experts.top_k to 13 or more" in refused({"router": {"entropy_band": [1.5, 2.5]}}).remedy


def test_one_of_several_alternatives_takes_the_place_of_the_default() -> None:
    train = parse({"train": {"steps": 10}}).train
    assert (train.epochs, train.steps, train.minutes) == (None, 10, None)
    gravity = parse({"gravity": {"theta": 200}}).gravity
    assert (gravity.theta, gravity.theta_percentile) == (200, None)


@pytest.mark.parametrize("name", PRESETS)
def test_yaml_of_every_preset_reads_back_exactly(name: str, tmp_path: Path) -> None:
    one = preset(name)
    path = tmp_path / "config.yaml"
    for config in (one.config, scaled(one.config, "micro")):
        for text in (to_yaml(config, one), to_yaml(config)):
            path.write_text(text, encoding="utf-8")
            assert from_yaml(path) == config


@given(
    source=st.text(st.characters(exclude_categories=["Cs"])),
    alpha=st.floats(0, 1e6),
    beta_layers=st.lists(st.floats(0, 10), min_size=1, max_size=4),
    extra=st.dictionaries(st.text("abc_", min_size=1), st.floats(-1, 1), max_size=3),
)
def test_yaml_reads_back_whatever_the_values_are(
    source: str, alpha: float, beta_layers: list[float], extra: dict[str, float]
) -> None:
    config = parse(
        {"data": {"source": source}, "gravity": {"alpha": alpha, "beta_layers": beta_layers, "extra": extra}}
    )
    assert parse(yaml.safe_load(to_yaml(config))) == config


def test_yaml_gives_every_field_a_comment_with_help_and_origin() -> None:
    one = preset("a1")
    lines = {
        line.split(":")[0].strip(): line
        for line in to_yaml(one.config, one).splitlines()
        if line.startswith("  ")
    }
    assert len([line for line in to_yaml(one.config, one).splitlines() if line.startswith("  ")]) == len(
        fields()
    )
    assert lines["d_model"].split("#")[1].split(maxsplit=1) == ["stated", "Width of the residual stream (D)"]
    assert lines["eval_temperature"].split("#")[1].split()[0] == "elsewhere"
    assert lines["scoring"].split("#")[1].split()[0] == "v4"
    assert lines["lora_rank"].split("#")[1].split()[0] == "filled"
    assert lines["positions"].endswith("(published backbone: sinusoidal)")
    assert max(len(line) for line in lines.values()) <= 100


def test_yaml_marks_what_differs_from_the_preset() -> None:
    one = preset("a1")
    changed = to_yaml(override(one.config, {"experts.top_k": 2}), one)
    assert "  top_k: 2                        # changed " in changed
    assert "# changed" not in to_yaml(one.config, one)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a: [1\n", "is not YAML (line 2:"),
        (b"experts:\n  top_k: 1\n  top_k: 2\n", "is not YAML (line 3: top_k is given twice)"),
        (b"a: \x01", "is not YAML (unacceptable character"),
        (b"\xff\xfe", "is not UTF-8 text (byte 0)"),
        (b"- 1\n", "is not a mapping of groups"),
        (b"text", "is not a mapping of groups"),
        (b"experts: {top_k: yes}", "is not a number"),
    ],
)
def test_a_bad_file_is_one_line(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        from_yaml(path)
    assert caught.value.problem.startswith(problem)
    assert "\n" not in str(caught.value)
    assert "bad.yaml" in str(caught.value)


def test_a_missing_file_and_a_folder_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        from_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        from_yaml(tmp_path)


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("# nothing\nmodel:\n")
    assert from_yaml(path) == Config()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("experts.top-k", "8", 8),
        ("experts.top_k", "8", 8),
        ("train.learning-rate", "1e-3", 0.001),
        ("gravity.beta-layers", "1,0.5", (1.0, 0.5)),
        ("gravity.beta_layers", "[1, 0.5]", (1.0, 0.5)),
        ("gravity.beta_layers", "2", (2.0,)),
        ("gravity.frozen_layers", "false,true", (False, True)),
        ("router.entropy_band", "0.5,1.2", (0.5, 1.2)),
        ("router.entropy_band", "null", None),
        ("router.eval_temperature", "null", None),
        ("router.eval_temperature", "None", None),
        ("train.compile", "true", True),
        ("data.source", "123", "123"),
        ("data.source", "null", "null"),
        ("router.kind", "none", "none"),
        ("gravity.extra", "{mine: 0.5}", {"mine": 0.5}),
    ],
)
def test_overrides_read_text_as_yaml(name: str, text: str, value: object) -> None:
    group, key = name.replace("-", "_").split(".")
    assert getattr(getattr(override(preset("a1").config, {name: text}), group), key) == value


def test_entries_of_a_mapping_can_be_set_one_by_one() -> None:
    config = override(Config(), {"gravity.extra.my-rule": "0.5"})
    assert override(config, {"gravity.extra.other": 1}).gravity.extra == {"my-rule": 0.5, "other": 1.0}
    assert Config().gravity.extra == {}


def test_overrides_are_validated_as_one_whole() -> None:
    config = override(Config(), {"model.d_model": 384, "model.num_heads": 6})
    assert (config.model.d_model, config.model.num_heads) == (384, 6)
    with pytest.raises(ConfigError, match=r"model\.num_heads = 6: does not divide d_model = 256"):
        override(Config(), {"model.num_heads": 6})


def test_overrides_empty_their_alternatives() -> None:
    mvp = preset("mvp-v3").config
    assert override(mvp, {"train.minutes": "3"}).train.epochs is None
    percentile = override(mvp, {"gravity.theta_percentile": "0.1"}).gravity
    assert (percentile.theta, percentile.theta_percentile) == (None, 0.1)
    assert override(mvp, {"data.layout": "pack"}).data.padding_in_loss is False
    assert override(mvp, {"experts.top_k": "2"}).train.epochs == 2


@pytest.mark.parametrize(
    "settings",
    [
        {"train.steps": "10", "train.epochs": "2"},
        {"gravity.theta": "200", "gravity.theta_percentile": "0.1"},
        {"data.layout": "pack", "data.padding_in_loss": "true"},
        {"train.epochs": "null"},
    ],
)
def test_alternatives_given_together_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        override(preset("a1").config, settings)


@pytest.mark.parametrize("name", ["experts.topk", "experts", "top_k", "a.b.c", "experts.top_k.x", ""])
def test_an_override_of_no_setting_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is not a setting"):
        override(Config(), {name: "1"})


def test_overrides_leave_the_configuration_alone() -> None:
    config = preset("a1").config
    before = digest(config)
    override(config, {"gravity.extra.mine": 1, "experts.top_k": 1})
    assert digest(config) == before


def test_the_digest_names_the_configuration() -> None:
    one = parse({"experts": {"top_k": 2}, "train": {"epochs": 4}})
    other = parse({"train": {"epochs": 4.0}, "experts": {"top_k": "2"}})
    assert digest(one) == digest(other)
    assert len(digest(one)) == 12
    assert int(digest(one), 16) >= 0
    digests = {digest(preset(name).config) for name in PRESETS}
    # b1 and c-base are one configuration under two names, and so are mvp-v3 and mvp-v5, some and some-frozen.
    assert len(digests) == len(PRESETS) - 3


def test_the_published_backbone_is_read_under_its_earlier_name(tmp_path: Path) -> None:
    path = tmp_path / "old.yaml"
    path.write_text("model: {backbone: seed}\n")
    assert from_yaml(path) == Config()
    assert override(Config(), {"model.backbone": "seed"}) == Config()
