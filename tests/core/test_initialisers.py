"""Each initialiser keeps its distribution and gives the measured output sizes.

Shape letters: T tokens, D model width, F expert hidden width, E experts."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from somelab.config import ExpertsConfig
from somelab.core.experts import DenseExperts
from somelab.core.experts.initialisers import GELU_SECOND_MOMENT, INITIALISERS
from tests.core.builders import random, tokens_of

WIDTHS = [(96, 160), (160, 96), (33, 7)]


def drawn(init: str, d_model: int, d_ffn: int) -> tuple[Tensor, Tensor]:
    down_FD, up_DF = torch.full((d_ffn, d_model), 9.0), torch.full((d_model, d_ffn), 9.0)
    INITIALISERS[init](down_FD, up_DF, random(0))
    return down_FD, up_DF


@pytest.mark.parametrize(("d_model", "d_ffn"), WIDTHS)
def test_default_is_uniform_within_one_over_the_root_of_the_inputs(d_model: int, d_ffn: int) -> None:
    for weight in drawn("default", d_model, d_ffn):
        bound = 1 / math.sqrt(weight.shape[1])
        assert weight.abs().max() <= bound
        assert weight.abs().max() > 0.9 * bound
        spread = 6 * bound / math.sqrt(3) / math.sqrt(weight.numel())
        assert abs(weight.mean()) < spread
        assert abs(weight.std() * math.sqrt(3) / bound - 1) < 0.1


@pytest.mark.parametrize(("d_model", "d_ffn"), WIDTHS)
def test_orthogonal_is_orthonormal_along_the_shorter_side(d_model: int, d_ffn: int) -> None:
    for weight in drawn("orthogonal", d_model, d_ffn):
        rows, columns = weight.shape
        product = weight.T @ weight if rows >= columns else weight @ weight.T
        torch.testing.assert_close(product, torch.eye(min(rows, columns)), rtol=0, atol=1e-5)


def test_orthogonal_has_no_preferred_sign() -> None:
    """QR alone makes R's diagonal negative or positive by convention; fixed signs make the law uniform."""
    corner = [drawn_first_corner(seed) for seed in range(200)]
    assert 60 < sum(value > 0 for value in corner) < 140


def drawn_first_corner(seed: int) -> float:
    down_FD, up_DF = torch.empty(3, 2), torch.empty(2, 3)
    INITIALISERS["orthogonal"](down_FD, up_DF, random(seed))
    return float(down_FD[0, 0])


@pytest.mark.parametrize(("d_model", "d_ffn"), WIDTHS)
def test_sparse_has_half_of_each_column_zero(d_model: int, d_ffn: int) -> None:
    for weight in drawn("sparse", d_model, d_ffn):
        rows = weight.shape[0]
        assert ((weight == 0).sum(dim=0) == math.ceil(rows / 2)).all()
        rest = weight[weight != 0]
        assert abs(rest.std() / 0.01 - 1) < 5 / math.sqrt(2 * rest.numel())  # five deviations
        assert abs(rest.mean()) < 5 * 0.01 / math.sqrt(rest.numel())


def test_sparse_zeros_fall_anywhere() -> None:
    share_F = (drawn("sparse", 400, 40)[0] == 0).float().mean(dim=1)  # over 400 columns, per row
    assert (share_F - 0.5).abs().max() < 0.125  # five deviations


@pytest.mark.parametrize(("d_model", "d_ffn"), [(128, 512), (384, 256)])
def test_unit_outputs_have_the_size_of_the_token(d_model: int, d_ffn: int) -> None:
    config = ExpertsConfig(num_experts=8, d_ffn=d_ffn, top_k=1, init="unit")
    pool = DenseExperts(d_model, config, seed=0, layer=0)
    x_TD = unit_rms(tokens_of(64, d_model))
    outputs = pool(x_TD, (torch.arange(64) % 8)[:, None], torch.ones(64, 1))
    assert abs(rms(outputs) - 1) < 0.05


def size_of_four(init: str, d_model: int, d_ffn: int) -> float:
    """rms of the mean of four experts over tokens of rms 1."""
    config = ExpertsConfig(num_experts=4, d_ffn=d_ffn, top_k=4, init=init)  # pyright: ignore[reportArgumentType]
    pool = DenseExperts(d_model, config, seed=0, layer=0)
    x_TD = unit_rms(tokens_of(64, d_model))
    return rms(pool(x_TD, torch.arange(4).repeat(64, 1), torch.full((64, 4), 0.25)))


@pytest.mark.parametrize(("init", "published"), [("sparse", 0.009), ("default", 0.099), ("orthogonal", 0.20)])
def test_the_mean_of_four_experts_has_the_published_size(init: str, published: float) -> None:
    """Beside a residual of 1, the best initialiser has the smallest outputs."""
    assert abs(size_of_four(init, d_model=512, d_ffn=1024) / published - 1) < 0.1


def gelu_second_moment(variance: float) -> float:
    """E[gelu(z)^2] for z ~ N(0, variance), by quadrature."""
    z = torch.linspace(-10, 10, 20_001, dtype=torch.float64)
    density = torch.exp(-z.square() / 2) / math.sqrt(2 * math.pi)
    return float(torch.trapezoid(nn.functional.gelu(z * math.sqrt(variance)).square() * density, z))


def test_the_constant_of_unit_is_the_second_moment() -> None:
    assert abs(gelu_second_moment(1.0) - GELU_SECOND_MOMENT) < 5e-6


@pytest.mark.parametrize("init", ["sparse", "default", "orthogonal"])
def test_the_size_of_outputs_follows_from_the_distribution(init: str) -> None:
    # Variance of a hidden input, and of an output per unit of the hidden features' second moment, at D = 384,
    # F = 1024. sparse: half of the D (of the F) weights are N(0, 0.01^2); default: inputs * (1 / inputs) / 3;
    # orthogonal: columns of down have length 1, so |W x|^2 = D is spread over F units; rows of up have
    # length 1. Mean of four outputs.
    into_hidden, out_of_hidden = {
        "sparse": (384 / 2 * 1e-4, 1024 / 2 * 1e-4),
        "default": (1 / 3, 1 / 3),
        "orthogonal": (384 / 1024, 1.0),
    }[init]
    wanted = math.sqrt(gelu_second_moment(into_hidden) * out_of_hidden / 4)
    assert abs(size_of_four(init, d_model=384, d_ffn=1024) / wanted - 1) < 0.03


@pytest.mark.parametrize("init", INITIALISERS)
def test_biases_are_zero(init: str) -> None:
    config = ExpertsConfig(num_experts=3, d_ffn=10, top_k=1, init=init)  # pyright: ignore[reportArgumentType]
    pool = DenseExperts(6, config, seed=0, layer=0)
    assert pool.up_bias_ED is not None
    assert not pool.down_bias_EF.any()
    assert not pool.up_bias_ED.any()
    assert pool.down_EFD.any(dim=1).all(), "and weights are not"


def unit_rms(x_TD: Tensor) -> Tensor:
    return x_TD / x_TD.square().mean(dim=1, keepdim=True).sqrt()


def rms(x: Tensor) -> float:
    return float(x.square().mean().sqrt())
