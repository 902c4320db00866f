"""The normalisation layers of the two backbones, with one epsilon for all precisions. nn.RMSNorm's own
default depends on the dtype, so a bf16 evaluation would normalise differently from training.

Shape letters: T tokens, D model width."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from somelab.core.dispatch.kernels import NormKernels, registered

EPSILON = 1e-5


def build_norm(kind: str, d_model: int) -> nn.Module:
    """`layer` or `rms`. A LayerNorm keeps its bias whatever `model.bias` is: that setting is for linear
    layers."""
    return nn.LayerNorm(d_model, eps=EPSILON) if kind == "layer" else RMSNorm(d_model, eps=EPSILON)


class RMSNorm(nn.RMSNorm):
    """nn.RMSNorm by compiled kernels where there are any: torch's own takes several passes over memory on a
    CPU, and more in backward, a tenth of a small model's step."""

    def forward(self, x: Tensor) -> Tensor:
        kernels = _kernels(x, self.weight)
        if kernels is None:
            return super().forward(x)
        y_TD = _Normed.apply(x.reshape(-1, x.shape[-1]), self.weight, self.eps, kernels)
        return y_TD.view_as(x)


def _kernels(x: Tensor, weight: Tensor) -> NormKernels | None:
    exact = x.dtype == weight.dtype == torch.float32
    if x.device.type != "cpu" or not exact or torch.compiler.is_compiling():
        return None
    kernels = registered()
    return None if kernels is None else kernels.norms


class _Normed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_TD: Tensor, gain_D: Tensor, epsilon: float, kernels: NormKernels) -> Tensor:
        x_TD, gain_D = x_TD.contiguous(), gain_D.contiguous()
        y_TD, scale_T = kernels.forward(x_TD, gain_D, epsilon)
        ctx.save_for_backward(x_TD, gain_D, scale_T)
        ctx.kernels = kernels
        return y_TD

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        x_TD, gain_D, scale_T = ctx.saved_tensors
        kernels: NormKernels = ctx.kernels
        return *kernels.backward(x_TD, gain_D, scale_T, grads[0].contiguous()), None, None
