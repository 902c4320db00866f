"""The layer's contracts: evaluation changes nothing, forward moves nothing, and a seed decides every bit.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

import random as python_random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from somelab.core.layer import SomeLayer
from tests.core.builders import buffers_of, same_bits, small_layer, tokens_of

LIVELY: dict[str, Any] = {
    "alpha": 0.005,
    "beta": 0.001,
    "delta": 0.1,
    "warmup_steps": 1,
    "theta_percentile": 0.4,
    "norm": "clamp",
    "respawn": True,
    "respawn_threshold": 0.4,
    "load_bias": 0.01,
    "token_fraction": 0.8,
}


def lively_layer(seed: int = 0, **gravity: Any) -> SomeLayer:
    return small_layer(
        router={"kind": "mlp", "centre_queries": True, "temperature": 0.2},
        gravity={**LIVELY, **gravity},
        seed=seed,
    )


def train_(layer: SomeLayer, num_steps: int) -> Tensor:
    """Optimizer and gravity together. Returns the last output."""
    optimizer = torch.optim.AdamW([p for p in layer.parameters() if p.requires_grad], lr=1e-2)
    output = torch.zeros(())
    for step in range(num_steps):
        layer.set_progress_(step, num_steps)
        output = layer(tokens_of(40, 16, seed=step))
        (output - tokens_of(40, 16, seed=100 + step)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        layer.apply_gravity_()
    return output.detach()


@pytest.mark.parametrize(
    "gravity", [{}, {"pairs": "sparse"}, {"key_ema": 0.9}, {"keys": "gradient"}, {"keys": "fixed"}]
)
def test_evaluation_leaves_every_bit(gravity: dict[str, Any]) -> None:
    layer = lively_layer(**gravity)
    train_(layer, 3)
    layer(tokens_of(12, 16))  # a step under way: its statistics must survive an evaluation in between
    before = buffers_of(layer)
    versions = {name: buffer._version for name, buffer in layer.named_buffers()}
    layer.eval()
    for seed in range(3):
        output = layer(tokens_of(12, 16, seed=seed), details=True)
        assert float(output.aux_loss.detach()) == 0
    with torch.no_grad():
        layer(tokens_of(12, 16))
    assert same_bits(buffers_of(layer), before)
    assert versions == {name: buffer._version for name, buffer in layer.named_buffers()}, (
        "not even written with the same value"
    )


def test_forward_gathers_and_moves_nothing() -> None:
    layer = lively_layer()
    train_(layer, 3)
    digest, nothing = layer.keystore.digest(), layer.statistics.count_E.clone()
    for seed in range(3):
        layer(tokens_of(12, 16, seed=seed)).sum().backward()
        assert layer.keystore.digest() == digest
    assert not torch.equal(layer.statistics.count_E, nothing)
    layer.apply_gravity_()
    assert layer.keystore.digest() != digest
    assert torch.equal(layer.statistics.count_E, nothing), "gathered anew in the next step"


def test_the_switches_of_gathering() -> None:
    layer = lively_layer(token_fraction=1.0)
    layer.collects = False
    layer(tokens_of(5, 16))
    assert float(layer.statistics.num_tokens) == 0
    layer.collects = True
    layer.eval()
    layer(tokens_of(5, 16))
    assert float(layer.statistics.num_tokens) == 0
    layer.collects_in_eval = True
    layer(tokens_of(5, 16))
    assert float(layer.statistics.num_tokens) == 5
    with torch.no_grad():
        layer(tokens_of(5, 16))
    assert float(layer.statistics.num_tokens) == 10
    digest = layer.keystore.digest()
    layer.apply_gravity_()
    assert layer.keystore.digest() != digest


def test_the_same_seed_gives_the_same_bits() -> None:
    first, second = lively_layer(), lively_layer()
    assert same_bits(buffers_of(first), buffers_of(second))
    assert torch.equal(train_(first, 20), train_(second, 20))
    assert same_bits(buffers_of(first), buffers_of(second))
    assert first.keystore.born_E.max() >= 0, "a rebirth was part of it"
    assert first.keystore.born_E.min() == -1, "and a key that only moved"


def test_another_seed_gives_others() -> None:
    first, second = lively_layer(seed=0), lively_layer(seed=1)
    differing = {
        name
        for name, value in first.named_parameters()
        if not torch.equal(value, dict(second.named_parameters())[name])
    }
    assert {
        "experts.down_EFD",
        "experts.up_EDF",
        "router.linears.0.weight",
        "router.linears.1.bias",
    } <= differing
    assert not torch.equal(first.keystore.keys_ED, second.keystore.keys_ED)
    assert not torch.equal(train_(first, 20), train_(second, 20))


def test_layers_of_one_model_differ() -> None:
    first, second = (small_layer(layer=layer, num_layers=2) for layer in (0, 1))
    assert first.experts.digest() != second.experts.digest()
    assert not torch.equal(first.keystore.keys_ED, second.keystore.keys_ED)
    assert not torch.equal(
        first.state_dict()["router.linears.0.weight"], second.state_dict()["router.linears.0.weight"]
    )


@pytest.mark.parametrize("trainability", ["frozen", "gains", "readout", "lora", "full"])
def test_global_randomness_is_left_alone(trainability: str) -> None:
    states = torch.get_rng_state(), python_random.getstate(), str(np.random.get_state())  # noqa: NPY002
    layer = small_layer(
        experts={"trainability": trainability},
        router={"kind": "mlp"},
        gravity={**LIVELY, "alpha": 0.0, "beta": 0.0},
    )
    layer.keystore.keys_ED[0] *= 0.01
    layer(tokens_of(20, 16))
    report = layer.apply_gravity_()
    assert report is not None
    assert report.reborn, "a rebirth draws noise"
    assert torch.equal(torch.get_rng_state(), states[0])
    assert python_random.getstate() == states[1]
    assert str(np.random.get_state()) == states[2]  # noqa: NPY002


def test_the_output_is_the_gated_sum_times_the_gain() -> None:
    layer, quiet = small_layer(), small_layer(experts={"output_gain": 0.25, "train_output_gain": True})
    x_TD = tokens_of(6, 16)
    full, gained = layer(x_TD, details=True), quiet(x_TD, details=True)
    wanted_TD = torch.zeros(6, 16)
    for token, (experts, gates) in enumerate(zip(full.routing.indices_TK, full.routing.gates_TK)):
        for expert, gate in zip(experts, gates):
            alone = layer.experts(x_TD[token : token + 1], expert.view(1, 1), torch.ones(1, 1))
            wanted_TD[token] += (gate * alone[0]).detach()
    torch.testing.assert_close(full.mixture, wanted_TD)
    torch.testing.assert_close(gained.mixture, 0.25 * full.mixture)
    gained.mixture.sum().backward()
    gain = dict(quiet.named_parameters())["output_gain"]
    assert gain.grad is not None
    torch.testing.assert_close(gain.grad, full.mixture.sum().detach())
    assert "output_gain" not in dict(layer.named_parameters())


def test_experts_that_read_the_query_get_it_at_rms_1() -> None:
    layer = small_layer(experts={"reads": "query"}, router={"kind": "linear"})
    x_TD = tokens_of(6, 16)
    output = layer(x_TD, details=True)
    rms_T1 = output.query.square().mean(dim=1, keepdim=True).sqrt()
    wanted_TD = layer.experts(output.query / rms_T1, output.routing.indices_TK, output.routing.gates_TK)
    torch.testing.assert_close(output.mixture, wanted_TD)
    assert not torch.allclose(
        output.mixture, layer.experts(x_TD, output.routing.indices_TK, output.routing.gates_TK)
    )


def test_through_the_experts_a_gradient_reaches_the_query_network_even_with_one_gate() -> None:
    """One softmax gate is 1 whatever the score: what trains the query network is what the experts make of the
    query."""
    reading, routing_only = (
        small_layer(experts={"reads": reads, "top_k": 1}, router={"kind": "linear"})
        for reads in ("query", "token")
    )
    for layer in (reading, routing_only):
        layer(tokens_of(6, 16)).square().sum().backward()
    reached, missed = reading.router.linears[0].weight.grad, routing_only.router.linears[0].weight.grad
    assert isinstance(reached, Tensor)
    assert float(reached.abs().sum()) > 0
    assert missed is None or float(missed.abs().sum()) == 0


def test_without_gradient_the_choice_teaches_nobody() -> None:
    """The same output; the query network is trained through the experts' outputs alone, as if the gates were
    constants."""
    experts, kind = {"reads": "query"}, {"kind": "linear", "temperature": 0.1}
    deaf, taught = (
        small_layer(experts=experts, router={**kind, "gradient": gradient}) for gradient in (False, True)
    )
    x_TD = tokens_of(6, 16)
    outputs = [layer(x_TD, details=True) for layer in (deaf, taught)]
    torch.testing.assert_close(outputs[0].mixture, outputs[1].mixture)
    assert not outputs[0].routing.gates_TK.requires_grad
    again = taught(x_TD, details=True).routing
    given_TD = taught.experts(taught._expert_input(x_TD, again), again.indices_TK, again.gates_TK.detach())
    learned = [
        torch.autograd.grad(mixture_TD.square().sum(), layer.router.linears[0].weight)[0]
        for layer, mixture_TD in (
            (deaf, outputs[0].mixture),
            (taught, given_TD),
            (taught, outputs[1].mixture),
        )
    ]
    torch.testing.assert_close(learned[0], learned[1])
    assert not torch.allclose(learned[0], learned[2])


def test_the_mixer_is_one_trained_matrix_behind_the_gated_sum() -> None:
    plain, mixed = (
        small_layer(experts={"output_gain": 0.5}),
        small_layer(experts={"mixer": True, "output_gain": 0.5}),
    )
    x_TD = tokens_of(6, 16)
    assert mixed.mixer is not None
    wanted_TD = plain(x_TD) @ mixed.mixer.weight.T + mixed.mixer.bias
    torch.testing.assert_close(mixed(x_TD), wanted_TD)
    assert sum(p.numel() for p in mixed.parameters() if p.requires_grad) == 16 * 16 + 16 + sum(
        p.numel() for p in plain.parameters() if p.requires_grad
    )


def test_frozen_experts_hold_no_gradient_after_training() -> None:
    layer = lively_layer()
    digest = layer.experts.digest()
    train_(layer, 3)
    assert layer.experts.digest() == digest
    assert all(weight.grad is None for weight in layer.experts.parameters())


def test_a_layer_runs_in_bf16_with_keys_in_fp32() -> None:
    layer = small_layer(experts={"storage": "bfloat16"}, gravity={"alpha": 0.1})
    x_TD = tokens_of(30, 16)
    exact = layer(x_TD)
    layer.statistics.zero_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = layer(x_TD, details=True)
        output.mixture.float().square().mean().backward()
        layer.apply_gravity_()
    assert float((output.mixture.float() - exact).detach().norm() / exact.detach().norm()) < 0.1
    fp32 = [
        layer.keystore.keys_ED,
        layer.keystore.usage_E,
        layer.statistics.pull_sum_ED,
        output.routing.gates_TK,
    ]
    assert all(tensor.dtype == torch.float32 for tensor in fp32)
    torch.testing.assert_close(layer.keystore.keys_ED.norm(dim=1), torch.ones(8))


def test_keys_moved_before_backward_are_noticed() -> None:
    """Gravity belongs after backward: autograd refuses gradients through keys that have moved."""
    layer = small_layer(gravity={"alpha": 0.1})
    mixture_TD = layer(tokens_of(10, 16))
    layer.apply_gravity_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        mixture_TD.sum().backward()
