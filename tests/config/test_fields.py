"""The flat list of settings: complete, documented, and described in words that match what the tree
accepts."""

from __future__ import annotations

import pytest

from somelab.config import Config
from somelab.config.couplings import ALTERNATIVES, CONSEQUENCES, implied
from somelab.config.fields import REPORT_NAMES, Field, fields, group_docs, unknown_remedy, value_of


def test_every_setting_is_listed_once_and_documented() -> None:
    assert list(group_docs()) == ["model", "experts", "router", "gravity", "data", "train"]
    flat = [f"{group}.{key}" for group, content in Config().model_dump().items() for key in content]
    assert list(fields()) == flat
    for field in fields().values():
        assert field.doc.endswith("."), field.name
        assert value_of(Config(), field.name) == field.default


@pytest.mark.parametrize(
    ("name", "base", "kind", "nullable"),
    [
        ("model.d_model", int, "integer >= 1", False),
        ("model.d_dense", int, "integer >= 1 or null", True),
        ("model.norm", str, "layer | rms or null", True),
        ("router.entropy_band", tuple, "list of 2 numbers or null", True),
        ("gravity.ema_decay", float, "number >= 0 and < 1", False),
        ("gravity.theta_percentile", float, "number >= 0 and <= 1 or null", True),
        ("gravity.beta_layers", tuple, "list of numbers >= 0", False),
        ("gravity.frozen_layers", tuple, "list of true | false", False),
        ("gravity.extra", dict, "mapping of text to number", False),
        ("data.source", str, "text", False),
        ("train.compile", bool, "true | false", False),
    ],
)
def test_types_in_words(name: str, base: type, kind: str, nullable: bool) -> None:
    field = fields()[name]
    assert (field.base, field.kind, field.nullable) == (base, kind, nullable)


@pytest.mark.parametrize("limit", [20, 40, 56, 80])
def test_short_help_keeps_its_limit_and_its_brackets(limit: int) -> None:
    for field in fields().values():
        text = field.short(limit)
        assert 0 < len(text) <= limit
        if not text.endswith("..."):
            assert text.count("(") == text.count(")")


def test_short_help_is_the_first_sentence_or_the_choices() -> None:
    assert fields()["router.kind"].short(56) == "Query network: none | linear | mlp"
    assert fields()["gravity.keys"].short(56) == "moved | fixed | gradient"
    plain = Field("a.b", int, "integer", False, (), 1, "One clause; another one that is long. More.")
    assert plain.short(40) == "One clause; another one that is long"
    assert plain.short(30) == "One clause"
    assert plain.short(9) == "One..."


def test_names_of_the_reports_lead_to_ours() -> None:
    for name, ours in REPORT_NAMES.items():
        assert ours in fields()
        assert name not in {field.key for field in fields().values()}
        assert unknown_remedy(f"train.{name.upper()}") == f"did you mean {ours}?"


def test_a_group_is_not_a_setting() -> None:
    assert unknown_remedy("experts") == "did you mean one of its settings, such as experts.num_experts?"


def test_couplings_speak_of_real_settings_and_spare_what_is_given() -> None:
    named = {name for row in ALTERNATIVES for name in row} | {
        name for name, _ in (*CONSEQUENCES, *CONSEQUENCES.values())
    }
    assert named <= set(fields())
    assert implied({"train.steps": 1, "train.epochs": None}) == {"train.minutes": None}
    assert implied({"train.steps": None}) == {}
    assert implied({"data.layout": "pad"}) == {}
    assert implied({"data.layout": "pack"}) == {"data.padding_in_loss": False, "gravity.count_padding": False}
    assert implied({"data.padding_in_loss": False}) == {"gravity.count_padding": False}
    assert implied({"data.layout": "pack", "data.padding_in_loss": True}) == {}
