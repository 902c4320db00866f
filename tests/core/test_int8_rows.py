"""The compiled products of int8: exact in integers, near the fp32 pool of the same integers, the same bits
for any number of threads.

Shape letters: T tokens, D model width, F hidden width, E experts, K experts per token, N rows, V and W any
width."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from somelab.config import ExpertsConfig
from somelab.core.dispatch import ENGINES
from somelab.core.dispatch import int8 as int8_engine
from somelab.core.dispatch.choice import choose_for
from somelab.core.dispatch.int8_rows import kernels_for_int8
from somelab.core.experts import DenseExperts
from somelab.native.table import NativeKernels
from tests.core.builders import random


@pytest.fixture
def threads() -> Iterator[None]:
    yield
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def no_vnni(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the compiled products on every processor."""
    monkeypatch.setattr(int8_engine, "multiplies_int8", lambda: False)


def make_pool(**settings: Any) -> DenseExperts:
    usual: dict[str, Any] = {"num_experts": 5, "d_ffn": 48, "top_k": 2, "storage": "int8"}
    return DenseExperts(32, ExpertsConfig(**{**usual, **settings}), seed=1, layer=0)


def run(name: str, pool: DenseExperts, num_tokens: int, *, plain: bool = False) -> list[Tensor]:
    """Outputs, gradients of tokens and gates, per-expert outputs."""
    rng = random(0)
    weights = pool.weights().in_type(torch.float32) if plain else pool.weights()
    x_TD = torch.randn(num_tokens, 32, generator=rng).requires_grad_()
    indices_TK = torch.rand(num_tokens, 5, generator=rng).topk(2).indices
    gates_TK = torch.rand(num_tokens, 2, generator=rng).requires_grad_()
    outputs_TKO = torch.zeros(num_tokens, 2, weights.d_out)
    output = ENGINES[name](x_TD, indices_TK, gates_TK, weights, outputs_TKO)
    grad = torch.randn(output.shape, generator=rng)
    return [output.detach(), *torch.autograd.grad(output, (x_TD, gates_TK), grad), outputs_TKO]


def exact(integers: Tensor, scale_N: Tensor, matrix_VW: Tensor) -> Tensor:
    return ((integers.double() - 64) @ matrix_VW.double().T * scale_N[:, None].double()).float()


@pytest.mark.parametrize("num_rows", [1, 3, 8, 9, 48, 131])
@pytest.mark.parametrize("width", [4, 36, 160])
def test_products_are_exact(compiled: NativeKernels, num_rows: int, width: int) -> None:
    rng = random(num_rows)
    x_NW = torch.randn(num_rows + 5, width, generator=rng)
    matrix_VW = torch.randint(-127, 128, (32, width), generator=rng).to(torch.int8)
    x_NW[0], matrix_VW[0] = 1.0, 127  # the largest sums that there are
    rows = compiled.int8.quantise(x_NW)
    place_N = torch.randperm(num_rows + 5, generator=rng)[:num_rows]
    for transposed in (False, True):
        matrix = matrix_VW.T.contiguous() if transposed else matrix_VW
        out_NV = torch.empty(num_rows, 32)
        compiled.int8.product(rows, place_N, matrix, 0.5, out_NV, transposed=transposed)
        wanted_NV = 0.5 * exact(rows[0][place_N], rows[1][place_N], matrix_VW)
        torch.testing.assert_close(out_NV, wanted_NV, rtol=1e-6, atol=0)


def test_rows_are_rounded_to_63_steps_on_each_side(compiled: NativeKernels) -> None:
    x_NW = torch.randn(7, 37, generator=random(0))
    x_NW[2] = 0
    integers_NW, scale_N = compiled.int8.quantise(x_NW)
    torch.testing.assert_close(scale_N, x_NW.abs().amax(dim=1) / 63)
    restored_NW = (integers_NW.float() - 64) * scale_N[:, None]
    assert ((restored_NW - x_NW).abs() <= 0.5001 * scale_N[:, None]).all()
    assert integers_NW.min() >= 1
    assert integers_NW.max() <= 127
    hidden = compiled.int8.activate(x_NW)
    again = compiled.int8.quantise(F.gelu(x_NW))
    torch.testing.assert_close(hidden[1], again[1])
    assert ((hidden[0].int() - again[0].int()).abs() <= 1).all()


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_row_without_numbers_stays_one(compiled: NativeKernels, bad: float) -> None:
    x_NW = torch.ones(2, 32)
    x_NW[1, 5] = bad
    out_NV = torch.empty(2, 16)
    matrix = torch.ones(16, 32, dtype=torch.int8)
    compiled.int8.product(compiled.int8.quantise(x_NW), None, matrix, 1.0, out_NV, transposed=False)
    assert out_NV[0].isfinite().all()
    assert out_NV[1].isnan().all()


@pytest.mark.parametrize("trainability", ["frozen", "readout"])
@pytest.mark.parametrize("num_tokens", [1, 7, 200])
def test_the_engine_is_near_the_fp32_pool_of_the_same_integers(
    native_kernels: NativeKernels, num_tokens: int, trainability: str
) -> None:
    pool = make_pool(trainability=trainability)
    wanted = run("reference", pool, num_tokens, plain=True)
    for got, right in zip(run("int8", pool, num_tokens), wanted, strict=True):
        assert got.shape == right.shape
        assert float((got - right).norm() / right.norm()) < 0.04
        assert float(F.cosine_similarity(got.flatten(), right.flatten(), dim=0)) > 0.999


def test_the_same_bits_for_any_number_of_threads(native_kernels: NativeKernels, threads: None) -> None:
    pool = make_pool(d_ffn=512)
    torch.set_num_threads(1)
    one = run("int8", pool, 700)
    torch.set_num_threads(2)
    assert all(torch.equal(a, b) for a, b in zip(one, run("int8", pool, 700), strict=True))


def test_where_it_is_chosen(native_kernels: NativeKernels) -> None:
    weights, x_TD = make_pool().weights(), torch.zeros(3, 32)
    assert (kernels_for_int8(x_TD, torch.float32, weights) is not None) == native_kernels.int8.is_fast
    assert kernels_for_int8(x_TD, torch.bfloat16, weights) is None
    assert kernels_for_int8(x_TD, torch.float32, make_pool(storage="float32").weights()) is None
    assert kernels_for_int8(x_TD, torch.float32, make_pool(d_ffn=40).weights()) is None
    if native_kernels.int8.is_fast:
        assert choose_for(x_TD, weights) == "int8"
