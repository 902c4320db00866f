"""Rows scaled to length or rms 1 and the best of a row, by compiled kernels: against torch's own functions
and their gradients in float64.

Shape letters: T tokens, D width, S scores of a row, K of them selected, P parts of a row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from somelab.core.rows import add_weighted_, best_of_rows, rms_rows, unit_rows
from somelab.native.table import NativeKernels


@pytest.fixture
def threads() -> Iterator[None]:
    yield
    torch.set_num_threads(1)


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def unit_in_float64(x_TD: Tensor, centre_D: Tensor | None, parts: int) -> Tensor:
    x_TD = x_TD if centre_D is None else x_TD - centre_D.double()
    return torch.cat([F.normalize(part, dim=1) for part in x_TD.tensor_split(parts, dim=1)], dim=1)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("width", [2, 14, 96])
def test_unit_rows_and_their_gradient(
    native_kernels: NativeKernels, width: int, centred: bool, parts: int
) -> None:
    x_TD, grad_TD = randn(9, width).requires_grad_(), randn(9, width, seed=1)
    exact_TD = x_TD.detach().double().requires_grad_()
    centre_D = randn(width, seed=2) if centred else None
    y_TD, wanted_TD = unit_rows(x_TD, centre_D, parts), unit_in_float64(exact_TD, centre_D, parts)
    assert type(y_TD.grad_fn).__name__ == "_ScaledRowsBackward"
    torch.testing.assert_close(y_TD.double(), wanted_TD, rtol=1e-5, atol=1e-6)
    (got_TD,) = torch.autograd.grad(y_TD, x_TD, grad_TD)
    (right_TD,) = torch.autograd.grad(wanted_TD, exact_TD, grad_TD.double())
    torch.testing.assert_close(got_TD.double(), right_TD, rtol=1e-4, atol=1e-4)


def test_rms_rows_and_their_gradient(native_kernels: NativeKernels) -> None:
    x_TD, grad_TD = (0.1 * randn(9, 50)).requires_grad_(), randn(9, 50, seed=1)
    exact_TD = x_TD.detach().double().requires_grad_()
    y_TD = rms_rows(x_TD)
    wanted_TD = F.rms_norm(exact_TD, (50,), eps=torch.finfo(torch.float32).eps)
    torch.testing.assert_close(y_TD.double(), wanted_TD, rtol=1e-5, atol=1e-6)
    (got_TD,) = torch.autograd.grad(y_TD, x_TD, grad_TD)
    (right_TD,) = torch.autograd.grad(wanted_TD, exact_TD, grad_TD.double())
    torch.testing.assert_close(got_TD.double(), right_TD, rtol=1e-4, atol=1e-4)


def test_a_row_of_zeros_and_one_that_is_no_number(native_kernels: NativeKernels) -> None:
    x_TD = torch.zeros(3, 24)
    x_TD[2, 3] = torch.nan
    x_TD.requires_grad_()
    for scaled_TD in (unit_rows(x_TD), rms_rows(x_TD)):
        (grad_TD,) = torch.autograd.grad(scaled_TD[:2].sum(), x_TD)
        assert not scaled_TD[:2].any()
        assert scaled_TD[2].isnan().all()
        assert grad_TD[:2].isfinite().all()


@given(st.integers(1, 40), st.integers(1, 300), st.integers(1, 9), st.booleans())
def test_the_best_of_a_row(
    compiled: NativeKernels, num_rows: int, width: int, top_k: int, biased: bool
) -> None:
    top_k = min(top_k, width)
    scores_TS = randn(num_rows, width, seed=width)
    bias_S = 0.1 * randn(width, seed=1) if biased else torch.zeros(width)
    values_TK, places_TK = compiled.routing.best_of_rows(scores_TS, bias_S, top_k)
    shifted_TS = scores_TS + bias_S
    assert torch.equal(values_TK, shifted_TS.topk(top_k, dim=1).values)
    assert torch.equal(shifted_TS.gather(1, places_TK), values_TK)
    assert all(len(set(row)) == top_k for row in places_TK.tolist())


def test_of_equal_scores_the_first_is_taken_and_no_place_is_taken_twice(
    native_kernels: NativeKernels,
) -> None:
    _, places_TK = best_of_rows(torch.zeros(2, 100), None, 4)
    assert places_TK.tolist() == [[0, 1, 2, 3]] * 2
    scores_TS = torch.full((1, 100), torch.nan)
    _, places_TK = best_of_rows(scores_TS, None, 4)
    assert sorted(places_TK[0].tolist()) == [0, 1, 2, 3]


def test_short_and_long_rows_agree_on_zeros_infinities_and_what_is_no_number(
    native_kernels: NativeKernels,
) -> None:
    """Rows up to 256 scores are compared as integers, longer ones as floats."""
    scores_S = torch.tensor([-2.0, -0.0, torch.nan, 0.0, -torch.inf, 1e-45, -1e-45, torch.inf, 3.0])
    padded_S = torch.cat([scores_S, torch.full((300,), -torch.inf)])
    short = best_of_rows(scores_S[None], None, 6)
    long = best_of_rows(padded_S[None], None, 6)
    assert short[1].tolist() == long[1].tolist() == [[7, 8, 5, 1, 3, 6]]
    assert torch.equal(short[0], long[0])


@pytest.mark.parametrize("width", [1, 8, 37, 64])
def test_sums_of_rows_by_expert(native_kernels: NativeKernels, threads: None, width: int) -> None:
    rows_TD, weight_TK = randn(500, width), randn(500, 3, seed=1)
    indices_TK = torch.randint(7, (500, 3), generator=torch.Generator().manual_seed(2))
    found = list[Tensor]()
    for count in (1, 2):
        torch.set_num_threads(count)
        found.append(torch.ones(7, width))
        add_weighted_(found[-1], indices_TK, weight_TK, rows_TD)
    each_PD = (weight_TK[:, :, None] * rows_TD[:, None]).double().flatten(0, 1)
    wanted_ED = torch.ones(7, width).double().index_add(0, indices_TK.flatten(), each_PD)
    torch.testing.assert_close(found[0].double(), wanted_ED, rtol=1e-4, atol=1e-4)
    assert torch.equal(*found)


def test_the_same_bits_for_any_number_of_threads(native_kernels: NativeKernels, threads: None) -> None:
    x_TD = randn(3000, 64)
    found = list[tuple[Tensor, ...]]()
    for count in (1, 2):
        torch.set_num_threads(count)
        found.append((unit_rows(x_TD), rms_rows(x_TD), *best_of_rows(x_TD, None, 3)))
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))
