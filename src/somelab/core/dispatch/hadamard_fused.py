"""Hadamard experts by kernels that compute a token's experts from signs to sum in one pass. Backward computes
the transforms again, so that only the inputs are kept.

Shape letters: T tokens, D model width, K experts per token."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from somelab.core.dispatch.hadamard import HadamardPool
from somelab.core.dispatch.kernels import registered
from somelab.core.dispatch.weights import compute_dtype


class HadamardKernels(Protocol):
    """All tensors are contiguous; x and what is shaped like it have one type, gates are fp32, indices
    int64."""

    def supports(self, device_type: str, dtype: torch.dtype) -> bool: ...

    def forward(self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, pool: HadamardPool) -> Tensor:
        """sum_k gates_Tk expert[indices_Tk](x_T), [T, D]."""
        ...

    def align(self, x_TD: Tensor, indices_TK: Tensor, wanted_TD: Tensor, pool: HadamardPool) -> Tensor:
        """[T, K] <expert_k(x), wanted>, fp32."""
        ...

    def backward(
        self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, grad_TD: Tensor, pool: HadamardPool
    ) -> tuple[Tensor, Tensor]:
        """The gradients of x and of the gates."""
        ...


_on_gpu: list[HadamardKernels] = []


def register_on_gpu_(kernels: HadamardKernels | None) -> None:
    """Register kernels for a GPU (`somelab.native`); None removes them."""
    _on_gpu[:] = [] if kernels is None else [kernels]


def kernels_for(device_type: str, dtype: torch.dtype) -> HadamardKernels | None:
    """Compiled C++ on a CPU, Triton on a GPU; None where there is neither."""
    compiled = registered()  # first: this loads both
    found = [*_on_gpu, *([] if compiled is None else [compiled.hadamard])]
    return next((kernels for kernels in found if kernels.supports(device_type, dtype)), None)


def hadamard_fused(
    x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, pool: HadamardPool, kernels: HadamardKernels
) -> Tensor:
    """sum_k gates_Tk expert[indices_Tk](x_T), [T, D]."""
    dtype = compute_dtype(x_TD)
    with torch.autocast(x_TD.device.type, enabled=False):
        return _Fused.apply(x_TD.to(dtype), gates_TK, indices_TK, pool, kernels)


@torch.no_grad()
def hadamard_fused_alignment(
    x_TD: Tensor, indices_TK: Tensor, wanted_TD: Tensor, pool: HadamardPool, kernels: HadamardKernels
) -> Tensor:
    """[T, K] <expert_k(x), wanted>."""
    x_TD = x_TD.to(compute_dtype(x_TD)).contiguous()
    return kernels.align(x_TD, indices_TK.contiguous(), wanted_TD.to(x_TD.dtype).contiguous(), pool)


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x_TD: Tensor,
        gates_TK: Tensor,
        indices_TK: Tensor,
        pool: HadamardPool,
        kernels: HadamardKernels,
    ) -> Tensor:
        x_TD, indices_TK = x_TD.contiguous(), indices_TK.contiguous()
        ctx.save_for_backward(x_TD, gates_TK, indices_TK)
        ctx.work = (pool, kernels)
        return kernels.forward(x_TD, indices_TK, gates_TK.float().contiguous(), pool)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        x_TD, gates_TK, indices_TK = ctx.saved_tensors
        work: tuple[HadamardPool, HadamardKernels] = ctx.work
        pool, kernels = work
        grad_x_TD, grad_gates_TK = kernels.backward(
            x_TD, indices_TK, gates_TK.float().contiguous(), grads[0].contiguous(), pool
        )
        return grad_x_TD, grad_gates_TK.to(gates_TK.dtype), None, None, None
