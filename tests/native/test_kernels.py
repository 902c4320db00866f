"""The compiled kernels one by one: against float64, against torch's own rounding, and against themselves with
more threads.

Shape letters: T tokens, N rows, F hidden width, W any width."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from somelab.core.dispatch.kernels import TORCH, Kernels
from somelab.native.table import NativeKernels

DTYPES = [torch.float32, torch.bfloat16]


@pytest.fixture
def two_threads() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def activated(kernels: Kernels, x_NF: Tensor) -> Tensor:
    out_NF = torch.empty_like(x_NF)
    kernels.activate(x_NF, torch.zeros(x_NF.shape[1]), out_NF)
    return out_NF


def test_gelu_is_nearer_to_the_truth_than_torch_s_own(compiled: NativeKernels) -> None:
    x_NF = torch.linspace(-12, 12, 1_000_000).view(1000, 1000)
    truth = F.gelu(x_NF.double())
    error = (activated(compiled, x_NF).double() - truth).abs()
    assert error.max() < (F.gelu(x_NF).double() - truth).abs().max()
    # Beside the rounding of the result itself, half of its last bit.
    spacing = torch.finfo(torch.float32).eps * truth.abs()
    assert (error - spacing / 2).max() < 1.5e-7
    near_zero = torch.logspace(-30, -1, 1000).view(1, -1)
    relative = activated(compiled, near_zero).double() / F.gelu(near_zero.double()) - 1
    assert relative.abs().max() < 5e-7


def test_the_slope_of_gelu(compiled: NativeKernels) -> None:
    x_NF = torch.linspace(-12, 12, 1_000_000).view(1000, 1000)
    exact = x_NF.double().requires_grad_()
    (slope,) = torch.autograd.grad(F.gelu(exact).sum(), exact)
    grad_NF, dot_N = torch.ones_like(x_NF), torch.full((1000,), 3.0)
    compiled.differentiate_(grad_NF, x_NF, torch.zeros(1000), dot_N)
    assert (grad_NF.double() - slope).abs().max() < 3e-7
    torch.testing.assert_close(dot_N.double(), F.gelu(x_NF.double()).sum(dim=1) + 3, rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_no_number_stays_none(compiled: NativeKernels, dtype: torch.dtype) -> None:
    x_NF = torch.tensor([[float("nan"), float("inf"), 0.0, 1e30, -1e30, -float("inf")]], dtype=dtype)
    got = activated(compiled, x_NF)[0]
    assert got[0].isnan()
    assert got[1:4].tolist() == [float("inf"), 0.0, float(torch.tensor(1e30, dtype=dtype))]
    assert got[4:].abs().max() < 1e-9
    grad_NF, dot_N = torch.ones(1, 6, dtype=dtype), torch.zeros(1)
    compiled.differentiate_(grad_NF, x_NF, torch.zeros(6), dot_N)
    assert grad_NF[0, 0].isnan()
    assert dot_N.isnan()


def test_bf16_is_rounded_to_the_nearest_with_ties_to_even(compiled: NativeKernels) -> None:
    """`mix_` in fp32 and a cast by torch must give what a kernel that stores bf16 gives: gelu(x) = x for
    large x."""
    bits = torch.randint(
        0x42000000, 0x7F000000, (64, 160), generator=torch.Generator().manual_seed(0), dtype=torch.int32
    )
    bits[:, ::4] = bits[:, ::4] & ~0xFFFF | 0x8000  # half way between two bf16 numbers
    bias = bits.view(torch.float32)
    zero_NF, out_NF = torch.zeros(1, 160, dtype=torch.bfloat16), torch.empty(1, 160, dtype=torch.bfloat16)
    for row in range(64):
        compiled.activate(zero_NF, bias[row], out_NF)
        assert torch.equal(out_NF[0], bias[row].bfloat16())


@given(
    rows=st.integers(1, 9), width=st.integers(1, 70), dtype=st.sampled_from(DTYPES), seed=st.integers(0, 1000)
)
def test_each_step_is_torch_s(
    compiled: NativeKernels, rows: int, width: int, dtype: torch.dtype, seed: int
) -> None:
    """At any width, whole vectors or not. Torch's table wants the bias in the product, ours beside it."""
    tolerance = {"rtol": 1e-5, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 2e-2, "atol": 2e-2}
    source_TW, token_N = (
        randn(12, width, seed=seed).to(dtype),
        randn(12, seed=seed).topk(rows).indices.sort().values,
    )
    gathered, wanted = torch.empty(rows, width, dtype=dtype), torch.empty(rows, width, dtype=dtype)
    bias_W = randn(width, seed=seed + 1).to(dtype).float()
    dot_N = torch.empty(rows)
    compiled.gather_dot(source_TW, token_N, bias_W, gathered, dot_N)
    TORCH.gather(source_TW, token_N, wanted)
    assert torch.equal(gathered, wanted)
    torch.testing.assert_close(dot_N, source_TW.float()[token_N] @ bias_W, rtol=1e-5, atol=1e-4)
    product_NW = randn(rows, width, seed=seed + 2).to(dtype)
    biased = product_NW.float() + bias_W
    compiled.activate(product_NW, bias_W, gathered)
    torch.testing.assert_close(gathered.float(), F.gelu(biased), **tolerance)
    grad_NW = randn(rows, width, seed=seed + 3).to(dtype)
    wanted_grad, total_N = grad_NW.float().clone(), torch.ones(rows)
    TORCH.differentiate_(wanted_grad, biased, bias_W, total_N)
    ours_N = torch.ones(rows)
    compiled.differentiate_(grad_NW, product_NW, bias_W, ours_N)
    torch.testing.assert_close(grad_NW.float(), wanted_grad, **tolerance)
    torch.testing.assert_close(ours_N, total_N, rtol=1e-4, atol=1e-4)
    gate_N, target_TW = torch.rand(rows), randn(12, width, seed=seed + 4)
    wanted_target = target_TW.clone().index_add_(0, token_N, biased * gate_N[:, None])
    compiled.mix_(target_TW, token_N, product_NW, bias_W, gate_N)
    torch.testing.assert_close(target_TW, wanted_target, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("own", [True, False], ids=["compiled", "torch"])
@pytest.mark.usefixtures("two_threads")
def test_two_threads_give_the_bits_of_one(compiled: NativeKernels, dtype: torch.dtype, own: bool) -> None:
    """Large enough that both work, and with tokens named many times, which two threads must not add to at
    once."""
    kernels: Kernels = compiled if own else TORCH
    rows, width = 400, 200
    product_NW, bias_W, gate_N = (
        randn(rows, width, seed=1).to(dtype),
        randn(width, seed=2),
        randn(rows, seed=3),
    )
    bias_W = bias_W.to(torch.float32 if own else dtype)
    token_N = torch.randint(0, 9, (rows,), generator=torch.Generator().manual_seed(4)).sort().values

    def steps() -> list[Tensor]:
        rows_NW, dot_N = torch.empty_like(product_NW), torch.empty(rows)
        kernels.gather_dot(product_NW, token_N, bias_W, rows_NW, dot_N)
        hidden_NW = torch.empty_like(product_NW)
        kernels.activate(product_NW, bias_W, hidden_NW)
        grad_NW = rows_NW.clone()
        kernels.differentiate_(grad_NW, product_NW, bias_W, dot_N)
        target_TW = torch.zeros(9, width)
        kernels.mix_(target_TW, token_N, hidden_NW.clone(), bias_W, gate_N)
        return [rows_NW, hidden_NW, grad_NW, dot_N, target_TW]

    both = [steps() for _ in range(5)]
    torch.set_num_threads(1)
    alone = steps()
    assert all(torch.equal(a, b) for got in both for a, b in zip(got, alone))
    bias_W = bias_W if own else torch.zeros(width)  # torch's steps leave it to the products
    wanted = torch.zeros(9, width).index_add_(0, token_N, (alone[1].float() + bias_W) * gate_N[:, None])
    torch.testing.assert_close(alone[-1], wanted, rtol=1e-5, atol=1e-4)


def test_tensors_that_do_not_lie_in_order_are_an_error_of_ours(compiled: NativeKernels) -> None:
    with pytest.raises(AssertionError):
        compiled.activate(randn(4, 8).T, torch.zeros(4), torch.empty(8, 4))


@pytest.mark.parametrize("width", [1, 7, 8, 2048, 2051])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_cross_entropy_and_its_gradient(compiled: NativeKernels, width: int, biased: bool, threads: int):
    generator = torch.Generator().manual_seed(width)
    product_NV = 5 * torch.randn(40, width, generator=generator)
    product_NV[3] -= 1e4  # far below 0, where exp alone would be 0
    product_NV[5, : width // 2] = -torch.inf
    bias_V = torch.randn(width, generator=generator) if biased else None
    targets_N = torch.randint(width // 2, width, (40,), generator=generator)
    logits_NV = (product_NV if bias_V is None else product_NV + bias_V).double().requires_grad_()
    expected_N = torch.nn.functional.cross_entropy(logits_NV, targets_N, reduction="none")
    expected_N.sum().backward()

    slopes_NV, nats_N = product_NV.clone(), torch.empty(40)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        compiled.cross_entropy_(slopes_NV, bias_V, targets_N, nats_N)
    finally:
        torch.set_num_threads(before)

    torch.testing.assert_close(nats_N.double(), expected_N.detach(), rtol=1e-6, atol=2e-6)
    torch.testing.assert_close(slopes_NV.double(), logits_NV.grad, rtol=1e-5, atol=5e-7)


def test_cross_entropy_of_a_row_that_is_not_finite_is_not_finite(compiled: NativeKernels):
    for value in (torch.nan, torch.inf):
        product_NV, nats_N = torch.zeros(2, 20), torch.empty(2)
        product_NV[1, 3] = value
        compiled.cross_entropy_(product_NV, None, torch.tensor([0, 0]), nats_N)
        assert abs(float(nats_N[0]) - math.log(20)) < 1e-6
        assert not nats_N[1].isfinite()
