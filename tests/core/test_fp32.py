"""Casting a model leaves keys, usage and statistics in fp32, with every bit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from somelab.config import ExpertsConfig, GravityConfig, RouterConfig
from somelab.core.layer import SomeLayer


def test_a_cast_model_keeps_its_addresses_in_fp32() -> None:
    layer = SomeLayer(
        16,
        ExpertsConfig(num_experts=8, d_ffn=16, top_k=2),
        RouterConfig(),
        GravityConfig(respawn=True, key_ema=0.5),
    )
    layer(torch.randn(5, 16, generator=torch.Generator().manual_seed(1)))
    digest, count_E = layer.keystore.digest(), layer.statistics.count_E.clone()
    layer.to(torch.bfloat16)
    assert layer.router.linears[0].weight.dtype == torch.bfloat16
    assert layer.keystore.digest() == digest
    assert layer.statistics.count_E.dtype == torch.float32
    assert torch.equal(layer.statistics.count_E, count_E)
    assert layer.statistics.pairs.count.dtype == torch.float32
    assert layer.statistics.kept.draw_Q.dtype == torch.float64


def meta_layer() -> SomeLayer:
    gravity = GravityConfig(respawn=True, key_ema=0.5, credit=0.1)
    return SomeLayer(
        16,
        ExpertsConfig(num_experts=8, d_ffn=16, top_k=2, trainability="readout"),
        RouterConfig(),
        gravity,
        seed=3,
    )


def test_a_layer_built_on_meta_starts_as_one_that_was_not() -> None:
    with torch.device("meta"):
        layer = meta_layer()
    with patched_memory():
        layer.to_empty(device="cpu")
    usual = meta_layer()
    assert layer.keystore.digest() == usual.keystore.digest()
    assert layer.experts.digest() == usual.experts.digest()
    layer.router.load_state_dict(usual.router.state_dict())
    x_TD = torch.randn(5, 16, generator=torch.Generator().manual_seed(1))
    for one in (layer, usual):
        one(x_TD)
    assert torch.equal(layer.statistics.count_E, usual.statistics.count_E)
    assert torch.equal(layer.statistics.kept.query_QD, usual.statistics.kept.query_QD)


def test_buffers_that_a_library_fills_in_by_name_hold_no_garbage() -> None:
    """As `from_pretrained` does: what a checkpoint holds is put in place of the meta tensors, the rest is
    left empty."""
    usual = meta_layer()
    with torch.device("meta"):
        layer = meta_layer()
    kept = {**dict(usual.named_parameters()), **usual.state_dict()}
    for path, module in layer.named_modules():
        for name, value in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            found = kept.get(f"{path}.{name}" if path else name)
            filled = torch.full(value.shape, 1e38) if found is None else found.detach().clone()
            if isinstance(value, torch.nn.Parameter):
                setattr(module, name, torch.nn.Parameter(filled, requires_grad=value.requires_grad))
            else:
                module._buffers[name] = filled
    x_TD = torch.randn(5, 16, generator=torch.Generator().manual_seed(1))
    for one in (layer, usual):
        one(x_TD)
    assert torch.equal(layer.statistics.count_E, usual.statistics.count_E)
    assert float(layer.statistics.count_E.sum()) == 10
    assert torch.equal(layer.statistics.pairs.dense(), usual.statistics.pairs.dense())


@contextlib.contextmanager
def patched_memory() -> Iterator[None]:
    """New memory full of garbage, as it may be."""
    empty_like = torch.empty_like

    def garbage(tensor: torch.Tensor, **options: Any) -> torch.Tensor:
        made = empty_like(tensor, **options)
        return made.fill_(1e38) if made.is_floating_point() else made.fill_(77)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "empty_like", garbage)
        yield
