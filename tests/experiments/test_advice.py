"""What the record says about a published learning rate."""

from __future__ import annotations

import pytest

from somelab.config import Config, override, preset, scaled
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.ledger.advice import BASELINES, rate_advice
from somelab.experiments.ledger.records import Records

CURVE = {
    "arm": "base",
    "digest": "d",
    "scale": "micro",
    "length": "short",
    "standing": "tuned",
    "best": 0.016,
}


def advice(
    name: str, scale: str = "micro", curve: dict[str, object] | None = None, rate: float | None = None
) -> str:
    config: Config = scaled(preset(name).config, scale)
    config = config if rate is None else override(config, {"train.learning_rate": rate})
    return rate_advice(name, scale, config, Records().with_curves([curve or CURVE]))


def test_a_published_rate_that_is_far_from_the_best_is_told() -> None:
    assert advice("a1") == (
        "learning rate 0.0006 is as published; at micro scale a search found 0.016 for this kind of model "
        "(somelab evidence --list; --train.learning-rate 0.016 sets it)"
    )
    assert advice("b2").startswith("learning rate 0.0006 is as published")  # v4 as well


def test_nothing_is_said_where_nothing_is_known_or_nothing_is_wrong() -> None:
    assert advice("a1", rate=0.01) == "", "within a factor of two"
    assert advice("a1", "mini") == "", "no search at this scale"
    assert advice("v7") == "", "no search for this version"
    assert advice("some") == "", "not a published preset"
    assert advice("dense") == "", "another block than the one that was searched"
    assert advice("gpt2-dense") == "", "published, and another block"
    assert advice("a1", curve={**CURVE, "standing": "unfinished"}) == ""


@pytest.mark.parametrize(("name", "arm"), BASELINES.items())
def test_a_baseline_has_the_advice_of_the_arm_that_is_like_it(name: str, arm: str) -> None:
    assert advice(name, curve={**CURVE, "arm": arm}).startswith(
        "learning rate 0.0006 is that of a1; at micro"
    )
    ours, theirs = preset(name).config.model, ARMS[arm].config("micro", "builtin").model
    assert (ours.feed_forward, ours.backbone) == (theirs.feed_forward, theirs.backbone)
