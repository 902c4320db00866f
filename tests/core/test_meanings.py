"""Every measure that training or an evaluation writes has a meaning, and says over what it was counted."""

from __future__ import annotations

import torch

from somelab.config import ExpertsConfig, GravityConfig, RouterConfig
from somelab.core.collapse import findings
from somelab.core.layer import SomeLayer
from somelab.core.meanings import MEANINGS, in_evaluation, in_training, over_usage, over_validation
from somelab.training.evaluate import RoutingTally
from somelab.training.measuring import of_step


def test_all_measures_are_explained() -> None:
    experts = ExpertsConfig(num_experts=8, d_ffn=16, top_k=2)
    layer = SomeLayer(16, experts, RouterConfig(kind="linear"), GravityConfig(), seed=0)
    layer(torch.randn(4, 8, 16))
    training = of_step(layer, layer.apply_gravity_())
    evaluation = RoutingTally(layer).result()
    assert set(training) | set(evaluation) <= set(MEANINGS)
    assert all(in_training(name, ema_decay=0.99) for name in training)
    assert all(in_evaluation(name, 100) for name in evaluation)


def test_the_words() -> None:
    assert over_validation(20480) == "20,480 tokens of validation text"
    assert over_usage(ema_decay=0.99) == "a moving average over about the last 100 training steps"
    assert over_usage(ema_decay=0.99, cumulative=True) == "all training steps so far"


def test_findings_say_over_what() -> None:
    measures = {"dead_share": 0.75, "num_combinations": 2.0}
    found = findings(0, measures, num_experts=16, top_k=4, over=over_validation(1000))
    assert [one.sentence for one in found] == [
        "layer 0: 75% of the experts were never selected in 1,000 tokens of validation text",
        "layer 0: only 2 distinct sets of 4 experts are in use in 1,000 tokens of validation text",
    ]
