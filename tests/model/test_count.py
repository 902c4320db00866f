"""Counts: the published figures, and models small enough to count and time by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from somelab.config import counts, override
from somelab.config.presets import PRESETS, preset
from somelab.model import Decoder, count_parameters
from somelab.model.recorded import counts_of_presets
from tests.model.builders import config_of

PUBLISHED = [
    name
    for name in PRESETS
    if (figures := preset(name).published) is not None and figures.recount_total is not None
]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts(name: str):
    run = preset(name)
    assert run.published is not None
    count = count_parameters(run.config)
    assert round(count.total / 1e6, 2) == run.published.recount_total
    assert round(count.trainable / 1e6, 2) == run.published.recount_trainable


def test_the_published_runs_are_there():
    assert {"a1", "a6", "b3", "v3r-v1", "mvp-v6"} <= set(PUBLISHED)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_can_be_counted(name: str):
    count = count_parameters(preset(name).config)
    assert count.total == count.trainable + count.frozen
    assert 0 < count.active <= count.total
    assert count.bytes >= 2 * count.total
    assert count.flops_per_token > 0


def test_a1_by_hand():
    count = count_parameters(preset("a1").config)
    width, layers, vocabulary = 384, 8, 8192
    shell = 2 * vocabulary * width + vocabulary + layers * (4 * (width**2 + width) + 4 * width)
    router = layers * (width * 768 + 768 + 768 * width + width)
    expert = 2 * width * 1024 + 1024 + width
    assert count.trainable == shell + router
    assert count.frozen == layers * 64 * expert
    assert count.active == count.trainable + layers * 4 * expert
    products = (
        layers * (4 * width**2 + 768 * width + 2 * width * 768 + 64 * width + 4 * 2 * width * 1024)
        + vocabulary * width
    )
    # Attention reads 768/2 tokens on average, for scores and for the mixture.
    assert count.flops_per_token == 2 * products


def test_the_largest_preset_allocates_nothing(monkeypatch: pytest.MonkeyPatch):
    """A pool that is really made would be drawn; none may be."""

    def refuse(*_: Any) -> None:
        raise AssertionError("an expert was drawn")

    monkeypatch.setattr("somelab.core.experts.DenseExperts.draw_", refuse)
    assert count_parameters(preset("b3").config).total == 5_405_998_080


@pytest.mark.parametrize("trainability", ["frozen", "gains", "readout", "lora", "full"])
@pytest.mark.parametrize("feed_forward", ["some", "moe", "frozen_dense"])
def test_counts_equal_the_real_model(trainability: str, feed_forward: str):
    experts = {"trainability": trainability, "storage": "bfloat16"}
    config = config_of({"feed_forward": feed_forward}, experts=experts)
    model, count = Decoder(config), count_parameters(config)
    assert count.total == sum(p.numel() for p in model.parameters())
    assert count.trainable == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert count.bytes == sum(t.numel() * t.element_size() for t in (*model.parameters(), *model.buffers()))


def test_active_parameters_of_each_kind_of_pool():
    """D = 24, F = 20, E = 6, K = 2, two layers: what differs from E to K is what is idle."""

    def idle(trainability: str, feed_forward: str = "some") -> int:
        count = count_parameters(
            config_of({"feed_forward": feed_forward}, experts={"trainability": trainability})
        )
        return count.total - count.active

    expert = 2 * 24 * 20 + 20 + 24
    assert idle("frozen") == idle("full") == 2 * 4 * expert
    assert idle("frozen", "moe") == 2 * 4 * expert  # the router's own weights are all in use
    assert idle("gains") == 2 * 4 * (expert + 20)
    assert idle("lora") == 2 * 4 * (expert + 2 * 4 * (24 + 20))
    assert idle("readout") == 2 * 4 * (24 * 20 + 20)
    assert idle("frozen", "dense") == idle("frozen", "frozen_dense") == idle("frozen", "none") == 0


def test_flops_of_each_kind_of_pool():
    def products(trainability: str = "frozen", feed_forward: str = "some", **model: Any) -> int:
        config = config_of({"feed_forward": feed_forward, **model}, experts={"trainability": trainability})
        return count_parameters(config).flops_per_token // 2

    none = products(feed_forward="none")
    assert none == 2 * (4 * 24**2 + 24 * 16) + 61 * 24
    routing = 2 * (2 * 24 * 48 + 6 * 24)
    assert products() == none + routing + 2 * 2 * 2 * 24 * 20
    assert products("lora") == products() + 2 * 2 * 2 * 4 * (24 + 20)
    assert products("readout") == none + routing + 2 * (2 * 24 * 20 + 24 * 20)
    assert products(feed_forward="moe") == none + 2 * (6 * 24 + 2 * 2 * 24 * 20)
    assert products(feed_forward="dense") == products(feed_forward="frozen_dense") == none + 2 * 2 * 24 * 40
    assert products(tied_head=True) == products()


def test_flops_equal_those_that_torch_counts():
    """A whole forward pass under torch's own counter: plain products for attention (it does not know the
    CPU's fused kernel), taken for full squares, which is twice the causal mean."""
    config = config_of({"feed_forward": "dense", "seq_len": 16})
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        Decoder(config)(torch.zeros(3, 16, dtype=torch.int64))
    attention = 2 * 24 * 16
    assert counter.get_total_flops() == 3 * 16 * (count_parameters(config).flops_per_token + 2 * attention)


def test_a_tied_head_counts_once_and_gradient_keys_count():
    untied, tied = (count_parameters(config_of({"tied_head": tied})).total for tied in (False, True))
    assert untied - tied == 61 * 24
    moved, trained = (
        count_parameters(config_of(gravity={"keys": keys})).trainable for keys in ("moved", "gradient")
    )
    assert trained - moved == 2 * 6 * 24


def test_the_record_is_what_is_counted() -> None:
    on_record = json.loads(counts.record_file().read_text(encoding="utf-8"))
    assert on_record == counts_of_presets(), "run `python -m somelab.model.recorded`"


def test_a_changed_configuration_is_not_on_record() -> None:
    config = preset("a1").config
    assert counts.recorded(config) == count_parameters(config)
    assert counts.recorded(override(config, {"experts.num_experts": 5})) is None
