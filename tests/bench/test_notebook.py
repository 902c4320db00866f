"""The notebooks' way is a fair opponent only if it computes the same: forward to rounding, keys to first
order in alpha.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from somelab.bench.notebook import NotebookLayer, check_notebook_can
from somelab.bench.settings import Settings
from somelab.bench.suites.documents import batch_from, made_up
from somelab.bench.suites.training import Stepper, dense_decoder, notebook_decoder
from somelab.config import Config, override, preset
from somelab.core.layer import SomeLayer
from somelab.errors import ConfigError
from somelab.model.decoder import Decoder
from tests.core.builders import small_layer, tokens_of

V4: dict[str, Any] = {"inertia": "min", "norm": "unit", "decay": False}


def moved(alpha: float, beta: float, **gravity: Any) -> tuple[Tensor, Tensor]:
    """How far ours and the notebooks' way carry each key in one step."""
    layer = small_layer(
        router={"kind": "mlp"}, gravity={**V4, "alpha": alpha, "beta": beta, **gravity}
    ).train()
    notebook = NotebookLayer(layer).train()
    before_ED = layer.keystore.keys_ED.clone()
    x_TD = tokens_of(300, 16)
    with torch.no_grad():
        layer(x_TD)
        notebook(x_TD)
    layer.apply_gravity_()
    notebook.move_keys_()
    return layer.keystore.keys_ED - before_ED, notebook.keys_ED - before_ED


@pytest.mark.parametrize("kind", ["linear", "mlp"])
@pytest.mark.parametrize("scoring", ["cosine", "dot"])
def test_forward_and_gradients_equal_ours(kind: str, scoring: str) -> None:
    layer = small_layer(router={"kind": kind, "scoring": scoring, "temperature": 0.3}).train()
    notebook = NotebookLayer(layer).train()
    x_BTD = tokens_of(90, 16).view(3, 30, 16)
    grad = tokens_of(90, 16, seed=1).view(3, 30, 16)
    ours_x, its_x = (x_BTD.clone().requires_grad_() for _ in range(2))
    ours, its = layer(ours_x), notebook(its_x)
    torch.testing.assert_close(its, ours, rtol=1e-5, atol=1e-5)
    ours.backward(grad)
    its.backward(grad)
    torch.testing.assert_close(its_x.grad, ours_x.grad, rtol=1e-4, atol=1e-5)
    for its_weight, our_weight in zip(
        notebook.query_network.parameters(), layer.router.linears.parameters(), strict=True
    ):
        torch.testing.assert_close(its_weight.grad, our_weight.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("inertia", ["min", "max"])
@pytest.mark.parametrize(("usage", "rate"), [("ema", 1e-4), ("cumulative", 3e-3)])
def test_keys_move_alike_to_first_order(inertia: str, usage: str, rate: float) -> None:
    ours, its = moved(rate, rate, inertia=inertia, usage=usage)
    assert ours.norm() > 1e-3
    assert (its - ours).norm() < 0.02 * ours.norm()


def test_the_difference_is_of_second_order() -> None:
    """Half the rates: half the way, and a quarter of the difference."""
    ours, its = moved(1e-3, 1e-3)
    our_half, its_half = moved(5e-4, 5e-4)
    assert float(our_half.norm() / ours.norm()) == pytest.approx(0.5, abs=0.05)
    assert float((its_half - our_half).norm() / (its - ours).norm()) == pytest.approx(0.25, abs=0.05)


def test_each_rule_alone_is_the_same_rule() -> None:
    for rates in ((1e-4, 0.0), (0.0, 1e-4)):
        ours, its = moved(*rates)
        assert ours.norm() > 1e-4
        assert (its - ours).norm() < 0.02 * ours.norm()


def test_usage_and_decay_are_the_same() -> None:
    gravity = {
        **V4,
        "alpha": 0.0,
        "beta": 0.0,
        "decay": True,
        "warmup_steps": 0,
        "delta": 0.25,
        "theta_percentile": 0.5,
    }
    layer = small_layer(router={"kind": "linear"}, gravity=gravity).train()
    notebook = NotebookLayer(layer).train()
    x_TD = tokens_of(200, 16)
    with torch.no_grad():
        layer(x_TD)
        notebook(x_TD)
    layer.apply_gravity_()
    notebook.move_keys_()
    assert torch.equal(notebook.usage_E, layer.keystore.usage_E)
    lengths_E = notebook.keys_ED.norm(dim=1)
    assert {round(length, 4) for length in lengths_E.tolist()} == {0.75, 1.0}
    torch.testing.assert_close(notebook.keys_ED, layer.keystore.keys_ED)


def test_it_shares_the_experts_and_nothing_that_changes() -> None:
    layer = small_layer(router={"kind": "linear"})
    notebook = NotebookLayer(layer)
    pool = layer.experts
    assert notebook.experts.experts[3].down.weight.data_ptr() == pool.down_EFD[3].data_ptr()
    assert not any(parameter.requires_grad for parameter in notebook.experts.parameters())
    ours = {
        tensor.data_ptr()
        for tensor in (*layer.router.parameters(), layer.keystore.keys_ED, layer.keystore.usage_E)
    }
    assert not ours & {
        tensor.data_ptr() for tensor in (*notebook.query_network.parameters(), *notebook.buffers())
    }


def tiny_model() -> Config:
    sizes = {
        "model.d_model": 32,
        "model.num_heads": 2,
        "model.num_layers": 2,
        "model.seq_len": 48,
        "model.vocab_size": 64,
    }
    pool = {"experts.num_experts": 6, "experts.d_ffn": 16, "experts.top_k": 2, "train.batch_size": 4}
    return override(preset("a1").config, {**sizes, **pool})


def test_a_whole_decoder_the_notebooks_way_answers_and_trains_like_ours() -> None:
    config = tiny_model()
    ours = Decoder(config)
    its = notebook_decoder(ours)
    assert not its.some_layers()
    batch = batch_from(made_up(64, 50), config, 4, packed=True)
    settings = Settings(dtype="fp32")
    steppers = [Stepper(model, config, settings) for model in (ours, its)]
    losses = [stepper.step_([batch]) for stepper in steppers]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    weights = [dict(model.named_parameters()) for model in (ours, its)]
    for name in ("embedding.weight", "head_weight", "blocks.0.attention.qkv.weight"):
        torch.testing.assert_close(weights[0][name], weights[1][name], rtol=1e-3, atol=2e-4)
    again = steppers[0].step_([batch])
    assert again < losses[0]


def test_every_step_begins_at_the_same_keys() -> None:
    config = tiny_model()
    ours = Decoder(config)
    batch = batch_from(made_up(64, 50), config, 4, packed=True)
    for model in (ours, notebook_decoder(ours)):
        stepper = Stepper(model, config, Settings(dtype="fp32"))
        keys = {
            name: buffer.clone()
            for name, buffer in model.named_buffers()
            if name.endswith(("keys_ED", "usage_E"))
        }
        assert len(keys) == 4
        stepper.step_([batch])
        assert not any(
            torch.equal(buffer, keys[name]) for name, buffer in model.named_buffers() if name in keys
        )
        stepper.rewind_()
        assert all(torch.equal(buffer, keys[name]) for name, buffer in model.named_buffers() if name in keys)


def test_micro_batches_add_up_to_one_step() -> None:
    config = tiny_model()
    batch = batch_from(made_up(64, 50), config, 4, packed=True)
    losses = [
        Stepper(Decoder(config), config, Settings(dtype="fp32")).step_(batch.micro_batches(rows))
        for rows in (4, 1)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_the_dense_decoder_has_the_active_size() -> None:
    dense = dense_decoder(Decoder(tiny_model()))
    widths = {
        module.out_features for name, module in dense.named_modules() if name.endswith("feed_forward.down")
    }
    assert widths == {2 * 16}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dense", "is dense"),
        ("v7", "gravity.norm"),
        ("gradient-keys", "gravity.keys"),
        ("d3", "router.grounding"),
    ],
)
def test_what_the_notebooks_did_not_have_is_refused(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        check_notebook_can(preset(name).config, name)
    assert str(caught.value).startswith(f"preset = '{name}': ")


@pytest.mark.parametrize("name", ["a1", "a6", "b3", "v2-pro", "mvp-v2"])
def test_published_series_are_accepted(name: str) -> None:
    check_notebook_can(preset(name).config, name)


def test_the_layer_is_a_some_layer_in_the_shell_and_a_plain_module_in_the_other() -> None:
    ours = Decoder(tiny_model())
    its = notebook_decoder(ours)
    assert all(isinstance(block.feed_forward, SomeLayer) for block in ours.blocks)
    assert all(isinstance(block.feed_forward, NotebookLayer) for block in its.blocks)
