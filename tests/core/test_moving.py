"""Casting a model leaves keys, usage and statistics in fp32, with every bit."""

from __future__ import annotations

import torch

from somelab.config import ExpertsConfig, GravityConfig, RouterConfig
from somelab.core.layer import SomeLayer


def test_a_cast_model_keeps_its_addresses_in_fp32() -> None:
    layer = SomeLayer(16, ExpertsConfig(num_experts=8, d_ffn=16, top_k=2), RouterConfig(), GravityConfig(respawn=True, key_ema=0.5))
    layer(torch.randn(5, 16, generator=torch.Generator().manual_seed(1)))
    digest, count_E = layer.keystore.digest(), layer.statistics.count_E.clone()
    layer.to(torch.bfloat16)
    assert layer.router.linears[0].weight.dtype == torch.bfloat16
    assert layer.keystore.digest() == digest
    assert layer.statistics.count_E.dtype == torch.float32
    assert torch.equal(layer.statistics.count_E, count_E)
    assert layer.statistics.pairs.count.dtype == torch.float32
    assert layer.statistics.kept.draw_Q.dtype == torch.float64


def test_a_layer_built_on_meta_can_be_given_memory() -> None:
    with torch.device("meta"):
        layer = SomeLayer(16, ExpertsConfig(num_experts=8, d_ffn=16, top_k=2), RouterConfig(), GravityConfig())
    layer.to_empty(device="cpu")
    assert layer.keystore.keys_ED.device.type == "cpu"
