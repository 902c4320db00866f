"""The compiled RMS norm: against torch's own and its gradients in float64, and where it steps aside.

Shape letters: T tokens, D width."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from somelab.model.norms import EPSILON, RMSNorm


def norm_of(width: int) -> RMSNorm:
    norm = RMSNorm(width, eps=EPSILON)
    torch.nn.init.normal_(norm.weight, generator=torch.Generator().manual_seed(1))
    return norm


def states(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.usefixtures("native_kernels")
@pytest.mark.parametrize("shape", [(1, 1), (7, 13), (3, 5, 96), (40, 100), (0, 8)])
def test_it_is_torchs_norm_with_its_gradients(shape: tuple[int, ...]) -> None:
    norm = norm_of(shape[-1])
    exact = torch.nn.RMSNorm(shape[-1], eps=EPSILON).double()
    exact.load_state_dict(norm.state_dict())
    x, grad = states(*shape).requires_grad_(), states(*shape, seed=2)
    exact_x = x.detach().double().requires_grad_()
    y, wanted = norm(x), exact(exact_x)
    torch.testing.assert_close(y.double(), wanted, rtol=1e-5, atol=1e-6)
    got = torch.autograd.grad(y, (x, norm.weight), grad)
    right = torch.autograd.grad(wanted, (exact_x, exact.weight), grad.double())
    for one, other in zip(got, right, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("native_kernels")
def test_the_kernel_is_used_in_fp32_alone() -> None:
    norm, x = norm_of(16), states(4, 16)
    graph = norm(x).grad_fn
    assert graph is not None
    assert type(graph.next_functions[0][0]).__name__ == "_NormedBackward"
    half = copy.deepcopy(norm).bfloat16()
    assert torch.equal(half(x.bfloat16()), torch.nn.RMSNorm.forward(half, x.bfloat16()))


@pytest.mark.usefixtures("native_kernels")
def test_two_threads_give_the_bits_of_one() -> None:
    norm, x, grad = norm_of(64), states(3000, 64).requires_grad_(), states(3000, 64, seed=2)
    found = list[tuple[Tensor, ...]]()
    for count in (1, 2):
        torch.set_num_threads(count)
        y = norm(x)
        found.append((y, *torch.autograd.grad(y, (x, norm.weight), grad)))
    torch.set_num_threads(1)
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))
