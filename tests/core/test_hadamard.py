"""Experts without matrices in torch, Hadamard and modulated ones: against a slow version with explicit
matrices and bits one by one, and as a family that is counted, trained, credited and stored by its seed.

Shape letters: T tokens, D model width, N width of a transform, F hidden units, E experts, K experts per
token."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

import somelab
from somelab.config import ExpertsConfig, override
from somelab.core.dispatch import hadamard
from somelab.core.dispatch.hadamard import (
    HadamardPool,
    hadamard_in_blocks,
    hadamard_reference,
    walsh_hadamard,
)
from somelab.core.experts import HadamardExperts, build_experts
from somelab.core.seeding import derive
from somelab.errors import ConfigError
from somelab.model.count import count_parameters
from tests.core.builders import random
from tests.training.builders import SMALL

HADAMARD: dict[str, Any] = {"experts.family": "hadamard", "experts.mixer": True, "experts.reads": "query"}
both_families = pytest.mark.parametrize("family", ["hadamard", "modulated"])


def splitmix(key: int, counter: int) -> int:
    """64 bits, by integers of Python."""
    mask = 2**64 - 1
    state = ((counter + 1) * 0x9E3779B97F4A7C15 + key) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def slow_signs(pool: HadamardPool, expert: int) -> tuple[Tensor, Tensor]:
    words = -(-pool.d_ffn // 64)

    def sign(vector: int, position: int) -> float:
        word = splitmix(pool.key, (expert * 2 + vector) * words + position // 64)
        return -1.0 if word >> (position % 64) & 1 else 1.0

    both = ([sign(vector, position) for position in range(pool.d_ffn)] for vector in (0, 1))
    b_F, c_F = (torch.tensor(signs, dtype=torch.float64) for signs in both)
    return b_F, c_F


def slow_expert(pool: HadamardPool, expert: int, x_D: Tensor) -> Tensor:
    """One unit after another, H from its definition: the parity of the common bits of row and column."""
    b_F, c_F = slow_signs(pool, expert)
    shared_F = c_F
    if pool.modulated:
        b_F, shared_F = slow_signs(pool, 0)
    width = 2 ** math.ceil(math.log2(pool.d_model))
    output_D = torch.zeros(pool.d_model, dtype=torch.float64)
    for unit in range(pool.d_ffn):
        block, row = divmod(unit, width)
        row_D = torch.tensor([(-1.0) ** bin(row & column).count("1") for column in range(pool.d_model)])
        b_D = b_F[block * width : block * width + pool.d_model]
        z = (row_D * b_D * x_D).sum() / math.sqrt(pool.d_model)
        place = row % pool.d_model
        factor = shared_F[unit] * (1 + c_F[unit]) / math.sqrt(2) if pool.modulated else c_F[unit]
        output_D = output_D + factor * F.gelu(z) * F.one_hot(torch.tensor(place), pool.d_model)
    return output_D * math.sqrt(pool.d_model / pool.d_ffn / 0.42522)


def case(
    d_model: int, blocks: int, num_tokens: int = 5, top_k: int = 2, family: str = "hadamard"
) -> tuple[Any, ...]:
    width = 2 ** math.ceil(math.log2(d_model))
    pool = HadamardPool(derive(3, "signs", 1), 6, d_model, blocks * width, family == "modulated")
    rng = random(d_model)
    x_TD = torch.randn(num_tokens, d_model, generator=rng)
    indices_TK = torch.rand(num_tokens, 6, generator=rng).topk(top_k).indices
    return pool, x_TD, indices_TK, torch.rand(num_tokens, top_k, generator=rng)


@given(size=st.integers(0, 9))
def test_the_fast_transform_is_the_matrix(size: int) -> None:
    width = 1 << size
    matrix = torch.tensor([[(-1.0) ** bin(i & j).count("1") for j in range(width)] for i in range(width)])
    x = torch.randn(3, width, generator=random(size))
    torch.testing.assert_close(walsh_hadamard(x), x @ matrix, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(walsh_hadamard(walsh_hadamard(x)) / width, x, rtol=1e-5, atol=1e-5)


@both_families
@pytest.mark.parametrize(("d_model", "blocks"), [(1, 1), (2, 3), (16, 2), (12, 1), (33, 1), (64, 2)])
def test_it_is_the_slow_version_gradients_included(d_model: int, blocks: int, family: str) -> None:
    pool, x_TD, indices_TK, gates_TK = case(d_model, blocks, family=family)
    leaves = x_TD.requires_grad_(), gates_TK.requires_grad_()
    got = hadamard_reference(x_TD, indices_TK, gates_TK, pool)
    slow = torch.stack(
        [
            sum(
                (
                    gates_TK[t, k].double() * slow_expert(pool, int(indices_TK[t, k]), x_TD[t].double())
                    for k in range(2)
                ),
                torch.zeros(d_model, dtype=torch.float64),
            )
            for t in range(len(x_TD))
        ]
    )
    torch.testing.assert_close(got.double(), slow, rtol=1e-5, atol=1e-5)
    grad_TD = torch.randn(got.shape, generator=random(1))
    wanted = torch.autograd.grad(slow, leaves, grad_TD.double())
    for gradient, right in zip(torch.autograd.grad(got, leaves, grad_TD), wanted):
        torch.testing.assert_close(gradient, right, rtol=1e-4, atol=1e-5)


@both_families
def test_outputs_have_rms_1_also_where_the_width_is_no_power_of_two(family: str) -> None:
    for d_model, d_ffn in ((96, 256), (256, 256), (64, 256)):
        pool = HadamardPool(derive(0, "signs", 0), 50, d_model, d_ffn, family == "modulated")
        x_TD = F.rms_norm(torch.randn(500, d_model, generator=random(0)), (d_model,))
        outputs = hadamard.outputs_of(x_TD, torch.randint(50, (500, 2), generator=random(1)), pool)
        assert float(outputs.square().mean().sqrt()) == pytest.approx(1.0, abs=0.02)


@both_families
def test_blocks_of_tokens_change_nothing(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pool, x_TD, indices_TK, gates_TK = case(24, 1, num_tokens=11, family=family)
    leaves = x_TD.requires_grad_(), gates_TK.requires_grad_()
    whole = hadamard_reference(x_TD, indices_TK, gates_TK, pool)
    wanted = torch.autograd.grad(whole.square().sum(), leaves)
    aligned = hadamard.hadamard_alignment(x_TD, indices_TK, x_TD, pool)
    monkeypatch.setattr(hadamard, "TOKENS_AT_ONCE", 4)
    parts = hadamard_in_blocks(x_TD, indices_TK, gates_TK, pool)
    torch.testing.assert_close(parts, whole)
    for got, right in zip(torch.autograd.grad(parts.square().sum(), leaves), wanted):
        torch.testing.assert_close(got, right)
    torch.testing.assert_close(hadamard.hadamard_alignment(x_TD, indices_TK, x_TD, pool), aligned)


@both_families
def test_no_tokens(family: str) -> None:
    pool, x_TD, indices_TK, gates_TK = case(12, 1, num_tokens=0, family=family)
    output = hadamard_in_blocks(x_TD.requires_grad_(), indices_TK, gates_TK.requires_grad_(), pool)
    output.sum().backward()
    assert output.shape == (0, 12)
    assert x_TD.grad is not None
    assert hadamard.hadamard_alignment(x_TD, indices_TK, x_TD, pool).shape == (0, 2)


@both_families
def test_credit_is_that_of_the_outputs(family: str) -> None:
    config = ExpertsConfig(family=family, mixer=True, num_experts=8, top_k=3, d_ffn=32)
    pool = build_experts(24, config, seed=0, layer=0)
    x_TD, wanted_TD = (torch.randn(9, 24, generator=random(seed)) for seed in (0, 1))
    indices_TK = torch.rand(9, 8, generator=random(2)).topk(3).indices
    outputs_TKO = pool.empty_outputs(x_TD, indices_TK)
    pool(x_TD, indices_TK, torch.ones(9, 3), outputs_TKO)
    torch.testing.assert_close(
        pool.recomputed_alignment(x_TD, indices_TK, wanted_TD), pool.alignment(outputs_TKO, wanted_TD)
    )


def test_modulated_experts_share_their_units_and_use_half_of_them() -> None:
    config = ExpertsConfig(family="modulated", mixer=True, num_experts=8, top_k=1, d_ffn=512)
    pool = build_experts(512, config, seed=0, layer=0)
    x_TD = torch.randn(1, 512, generator=random(0)).expand(8, -1)
    output_ED = pool(x_TD, torch.arange(8)[:, None], torch.ones(8, 1))
    is_used_ED = output_ED != 0
    assert is_used_ED.float().mean(dim=1).tolist() == pytest.approx([0.5] * 8, abs=0.1)
    both_D = is_used_ED[0] & is_used_ED[1]
    assert 80 < int(both_D.sum()) < 176  # a quarter of them
    assert torch.equal(output_ED[0, both_D], output_ED[1, both_D])


@both_families
def test_it_routes_and_earns_credit(family: str) -> None:
    layer = somelab.SomeLayer(16, {"family": family, "num_experts": 8, "top_k": 2})
    layer(torch.randn(20, 16, generator=random(0))).square().sum().backward()
    assert float(layer.statistics.credit_ED.norm()) > 0
    report = layer.apply_gravity_()
    assert report is not None
    assert report.mean_drift > 0


def test_it_is_counted_exactly() -> None:
    config = override(somelab.Config(), {**SMALL, **HADAMARD, "experts.d_ffn": 64})
    dense = override(config, {"experts.family": "dense"})
    counted, plain = count_parameters(config), count_parameters(dense)
    num_layers, top_k, d_ffn, d_model, log_width = 2, 2, 64, 32, 5
    assert counted.frozen == 0
    assert counted.trainable == plain.trainable
    assert counted.bytes == plain.bytes - 4 * plain.frozen
    without_experts = plain.flops_per_token - num_layers * top_k * 4 * d_model * d_ffn
    assert counted.flops_per_token == without_experts + num_layers * top_k * d_ffn * log_width
    shared = count_parameters(override(config, {"experts.family": "modulated"}))
    assert shared.trainable == counted.trainable
    assert shared.flops_per_token == without_experts + num_layers * d_ffn * (log_width + 2 * top_k)


@both_families
def test_it_trains_and_its_checkpoint_has_the_seed_alone(family: str, text: Path, tmp_path: Path) -> None:
    settings = {**SMALL, **HADAMARD, "experts.family": family, "gravity.credit": 0.1}
    trained = somelab.train("demo", data=text, out=tmp_path / "run", settings=settings)
    assert isinstance(trained.layers[0].experts, HadamardExperts)
    again = somelab.load(tmp_path / "run")
    assert again.layers[0].experts.digest() == trained.layers[0].experts.digest()
    assert again.layers[0].experts.digest() != trained.layers[1].experts.digest()
    assert again.generate("the", max_new_tokens=4) == trained.generate("the", max_new_tokens=4)


def test_a_million_experts_are_made_at_once() -> None:
    config = ExpertsConfig(family="hadamard", mixer=True, num_experts=10**6, top_k=2, d_ffn=64)
    pool = build_experts(64, config, seed=0, layer=0)
    assert len(pool.digest()) == 32
    indices_TK = torch.tensor([[0, 999_999]])
    output = pool(torch.ones(1, 64), indices_TK, torch.ones(1, 2))
    assert float(output.abs().sum()) > 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mixer": False}, r"experts\.mixer = False: .*set experts\.mixer to true"),
        ({"d_ffn": 48}, r"experts\.d_ffn = 48: .*choose a multiple of 32"),
        ({"trainability": "gains"}, r"experts\.trainability = 'gains': .*choose frozen"),
        ({"engine": "grouped"}, r"experts\.engine = 'grouped': cannot compute experts of family hadamard"),
    ],
)
def test_what_it_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        somelab.SomeLayer(24, {"family": "hadamard", "d_ffn": 32, **settings})
    with pytest.raises(ConfigError, match=message.replace("hadamard", "modulated")):
        somelab.SomeLayer(24, {"family": "modulated", "d_ffn": 32, **settings})
