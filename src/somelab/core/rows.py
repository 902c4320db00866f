"""Rows of queries scaled to length 1 or to rms 1, the best of a row of scores, sums of queries by expert:
compiled kernels with one pass each where there are any, else torch's functions, which need five to ten.

Shape letters: T tokens, D width, E experts, S scores of a row, K of them selected, P parts of a row."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from somelab.core.dispatch.kernels import RoutingKernels, registered


def unit_rows(x_TD: Tensor, centre_D: Tensor | None = None, parts: int = 1) -> Tensor:
    """(x - centre) / |x - centre| of each row, or of each of its equal parts. No gradient for the centre."""
    kernels = _kernels(x_TD)
    if kernels is not None:
        return _ScaledRows.apply(x_TD, centre_D, parts, False, kernels)
    if centre_D is not None:
        x_TD = x_TD - centre_D
    return torch.cat([F.normalize(part, dim=1) for part in x_TD.tensor_split(parts, dim=1)], dim=1)


def rms_rows(x_TD: Tensor) -> Tensor:
    """x / rms(x) of each row."""
    kernels = _kernels(x_TD)
    if kernels is not None:
        return _ScaledRows.apply(x_TD, None, 1, True, kernels)
    return F.rms_norm(x_TD, x_TD.shape[-1:])


@torch.no_grad()
def best_of_rows(scores_TS: Tensor, bias_S: Tensor | None, top_k: int) -> tuple[Tensor, Tensor]:
    """The top_k largest of scores + bias in each row, in descending order, and their places."""
    kernels = _kernels(scores_TS)
    if kernels is None:
        found = (scores_TS if bias_S is None else scores_TS + bias_S).topk(top_k, dim=1)
        return found.values, found.indices
    bias_S = torch.zeros(scores_TS.shape[1]) if bias_S is None else bias_S.contiguous()
    return kernels.best_of_rows(scores_TS.detach().contiguous(), bias_S, top_k)


@torch.no_grad()
def add_weighted_(target_ED: Tensor, indices_TK: Tensor, weight_TK: Tensor, rows_TD: Tensor) -> None:
    """target[indices_tk] += weight_tk rows_t, for all tokens and slots."""
    kernels = _kernels(rows_TD)
    if kernels is not None and target_ED.dtype == weight_TK.dtype == torch.float32:
        tensors = (indices_TK, weight_TK, rows_TD.detach())
        kernels.add_weighted_(target_ED, *(tensor.contiguous() for tensor in tensors))
        return
    weighted_TD = torch.empty_like(rows_TD)  # once for all slots: fresh memory costs page faults
    for slot in range(weight_TK.shape[1]):
        torch.mul(rows_TD, weight_TK[:, slot, None], out=weighted_TD)
        target_ED.index_add_(0, indices_TK[:, slot], weighted_TD)


def _kernels(rows: Tensor) -> RoutingKernels | None:
    if rows.device.type != "cpu" or rows.dtype != torch.float32 or torch.compiler.is_compiling():
        return None
    kernels = registered()
    return None if kernels is None else kernels.routing


class _ScaledRows(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x_TD: Tensor, centre_D: Tensor | None, parts: int, rms: bool, kernels: RoutingKernels
    ) -> Tensor:
        y_TD, scale_TP = kernels.scale_rows(x_TD.contiguous(), centre_D, parts, rms=rms)
        ctx.save_for_backward(y_TD, scale_TP)
        ctx.work = (rms, kernels)
        return y_TD

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        y_TD, scale_TP = ctx.saved_tensors
        work: tuple[bool, RoutingKernels] = ctx.work
        rms, kernels = work
        grad_x_TD = kernels.scale_rows_back(y_TD, scale_TP, grads[0].contiguous(), rms=rms)
        return grad_x_TD, None, None, None, None
