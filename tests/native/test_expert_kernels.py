"""Frozen experts by compiled kernels, against the equation in float64: every remainder of a panel and of a
block of rows, matrices that backward copies and those that it does not, and the same bits for any batch and
number of threads.

Shape letters: T tokens, D model width, F hidden width, O width of an output, E experts, K per token."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from somelab.core.dispatch import ENGINES, ExpertWeights
from somelab.core.dispatch.frozen_fused import LEAST_TOKENS
from somelab.native.table import NativeKernels
from tests.core.builders import random


@pytest.fixture(autouse=True)
def one_thread(native_kernels: NativeKernels, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(native_kernels.experts, "is_fast", True)  # right on every processor
    yield
    torch.set_num_threads(1)


def pool_of(num_experts: int, d_model: int, d_ffn: int, *, up: bool = True) -> ExpertWeights:
    rng = random(1)
    down_EFD = torch.randn(num_experts, d_ffn, d_model, generator=rng) / d_model**0.5
    up_EDF = torch.randn(num_experts, d_model, d_ffn, generator=rng) / d_ffn**0.5
    biases = torch.randn(num_experts, d_ffn, generator=rng), torch.randn(num_experts, d_model, generator=rng)
    return ExpertWeights(down_EFD, biases[0], *((up_EDF, biases[1]) if up else (None, None)))


def by_equation(x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, pool: ExpertWeights) -> Tensor:
    weights = [None if tensor is None else tensor.double()[indices_TK] for tensor in pool[:4]]
    down, down_bias, up, up_bias = weights
    assert down is not None
    assert down_bias is not None
    hidden = F.gelu(torch.einsum("tkfd,td->tkf", down, x_TD) + down_bias)
    output = hidden if up is None or up_bias is None else torch.einsum("tkof,tkf->tko", up, hidden) + up_bias
    return (gates_TK[:, :, None] * output).sum(dim=1)


def check(num_tokens: int, pool: ExpertWeights, top_k: int, shares_E: Tensor | None = None) -> None:
    rng, num_experts = random(2), len(pool.down_EFD)
    shares_E = torch.ones(num_experts) if shares_E is None else shares_E
    indices_TK = torch.multinomial(shares_E.expand(num_tokens, -1), top_k, generator=rng)
    x_TD = torch.randn(num_tokens, pool.down_EFD.shape[2], generator=rng).requires_grad_()
    gates_TK = torch.randn(num_tokens, top_k, generator=rng).requires_grad_()
    exact = [tensor.detach().double().requires_grad_() for tensor in (x_TD, gates_TK)]
    got_TO, wanted_TO = (
        ENGINES["native"](x_TD, indices_TK, gates_TK, pool),
        by_equation(exact[0], indices_TK, exact[1], pool),
    )
    assert type(got_TO.grad_fn).__name__ == "FusedExpertsBackward"
    torch.testing.assert_close(got_TO.double(), wanted_TO, rtol=1e-4, atol=1e-5)
    grad_TO = torch.randn(got_TO.shape, generator=rng)
    got = torch.autograd.grad(got_TO, (x_TD, gates_TK), grad_TO)
    wanted = torch.autograd.grad(wanted_TO, exact, grad_TO.double())
    for one, right in zip(got, wanted, strict=True):
        torch.testing.assert_close(one.double(), right, rtol=1e-4, atol=3e-5)


@pytest.mark.parametrize("num_tokens", [8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 63, 64, 65, 127, 129, 145])
def test_every_remainder_of_a_panel(native_kernels: NativeKernels, num_tokens: int) -> None:
    check(num_tokens, pool_of(1, 20, 13), top_k=1)


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("d_ffn", [1, 6, 11, 64])
@pytest.mark.parametrize("d_model", [2, 7, 12, 31])
def test_every_remainder_of_rows(native_kernels: NativeKernels, d_model: int, d_ffn: int, up: bool) -> None:
    check(40, pool_of(3, d_model, d_ffn, up=up), top_k=2)


@pytest.mark.parametrize(("d_model", "d_ffn"), [(300, 40), (40, 300), (257, 258)])
def test_matrices_that_backward_copies(native_kernels: NativeKernels, d_model: int, d_ffn: int) -> None:
    """More than one block of tokens an expert, so that a copy serves several."""
    check(400, pool_of(2, d_model, d_ffn), top_k=1)


def test_one_expert_with_almost_all_tokens(native_kernels: NativeKernels) -> None:
    """Its pairs are several tasks, which threads share."""
    torch.set_num_threads(2)
    check(1500, pool_of(4, 260, 12), top_k=1, shares_E=torch.tensor([1.0, 1e-3, 1e-3, 0.0]))


def test_the_same_bits_for_any_batch_and_number_of_threads(native_kernels: NativeKernels) -> None:
    rng, pool = random(3), pool_of(5, 48, 24)
    x_TD, gates_TK = torch.randn(700, 48, generator=rng), torch.rand(700, 2, generator=rng)
    indices_TK = torch.rand(700, 5, generator=rng).topk(2, dim=1).indices

    def outputs(rows: slice) -> tuple[Tensor, ...]:
        x, gates = x_TD[rows].clone().requires_grad_(), gates_TK[rows].clone().requires_grad_()
        kept = torch.empty(len(x), 2, 48)
        mixed = ENGINES["native"](x, indices_TK[rows], gates, pool, kept)
        return mixed.detach(), kept, *torch.autograd.grad(mixed, (x, gates), torch.ones_like(mixed))

    whole = outputs(slice(None))
    parts = zip(*(outputs(rows) for rows in (slice(0, 9), slice(9, 404), slice(404, 700))), strict=True)
    torch.set_num_threads(2)
    with_two = outputs(slice(None))
    for one, two, in_parts in zip(whole, with_two, parts, strict=True):
        assert torch.equal(one, two)
        assert torch.equal(one, torch.cat(in_parts))


def test_few_tokens_and_other_types_take_torchs_products(native_kernels: NativeKernels) -> None:
    pool, gates_TK = pool_of(2, 16, 16), torch.ones(LEAST_TOKENS, 1)
    indices_TK, x_TD = (
        torch.zeros(LEAST_TOKENS, 1, dtype=torch.long),
        torch.ones(LEAST_TOKENS, 16).requires_grad_(),
    )
    halves = pool._replace(down_EFD=pool.down_EFD.bfloat16(), up_EDF=pool.down_EFD.bfloat16())

    def engine(num_tokens: int, weights: ExpertWeights) -> str:
        rows = slice(num_tokens)
        return type(ENGINES["native"](x_TD[rows], indices_TK[rows], gates_TK[rows], weights).grad_fn).__name__

    assert engine(LEAST_TOKENS, pool) == "FusedExpertsBackward"
    assert engine(LEAST_TOKENS - 1, pool) == engine(LEAST_TOKENS, halves) == "_FrozenExpertsBackward"
