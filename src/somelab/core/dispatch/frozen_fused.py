"""Frozen experts by compiled kernels that compute a pair of token and expert from its gathered row to its
output: the engine `native` in fp32.

What is kept for backward is what `frozen` keeps: the hidden inputs. A pair's output has the same bits in any
batch and with any number of threads. Shape letters: T tokens, D model width, F hidden width, O width of an
output, E experts, K experts per token, P token-expert pairs, R rows of the panels: pairs, rounded up to whole
vectors for each expert."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from somelab.core.dispatch.weights import ExpertWeights

LEAST_TOKENS = 8
"""With fewer, most of a vector of tokens would be empty: products of torch are faster."""


class Pairs(NamedTuple):
    """The pairs (token * K + slot) in the order of their experts."""

    order_P: Tensor
    begin_E1: Tensor
    """Where each expert's pairs begin in that order, and where the last one's end."""
    start_E1: Tensor
    """The same in the panels."""


class ExpertKernels(Protocol):
    """On contiguous tensors in fp32."""

    is_fast: bool
    """Whether the processor has registers for it; otherwise results are right, and slow."""

    def sort(self, indices_TK: Tensor, num_experts: int) -> Pairs: ...

    def forward(
        self,
        x_TD: Tensor,
        gates_TK: Tensor,
        pairs: Pairs,
        weights: ExpertWeights,
        inputs_RF: Tensor | None,
        outputs_TKO: Tensor,
    ) -> Tensor:
        """sum_k gates_Tk expert_k(x_T), [T, O]. Fills the per-expert outputs, and what gelu is applied to
        unless that is None."""
        ...

    def backward(
        self,
        grad_TO: Tensor,
        gates_TK: Tensor,
        pairs: Pairs,
        weights: ExpertWeights,
        inputs_RF: Tensor,
        *,
        of_x: bool,
    ) -> tuple[Tensor | None, Tensor]:
        """The gradients of x (None unless `of_x`) and of the gates."""
        ...


def fits_fused(x_TD: Tensor, dtype: torch.dtype, weights: ExpertWeights) -> bool:
    """Whether tokens and pool are in fp32, and the tokens are enough."""
    stored = {tensor.dtype for tensor in weights if tensor is not None}
    return dtype == torch.float32 and stored == {torch.float32} and len(x_TD) >= LEAST_TOKENS


class FusedExperts(torch.autograd.Function):
    """Forward and backward, each one call."""

    @staticmethod
    def forward(
        ctx: Any,
        x_TD: Tensor,
        gates_TK: Tensor,
        indices_TK: Tensor,
        weights: ExpertWeights,
        kernels: ExpertKernels,
        keeps: bool,
        outputs_TKO: Tensor | None,
    ) -> Tensor:
        pairs = kernels.sort(indices_TK.contiguous(), len(weights.down_EFD))
        num_places, d_ffn = int(pairs.start_E1[-1]), weights.down_EFD.shape[1]
        inputs_RF = x_TD.new_empty(num_places, d_ffn) if keeps else None
        gates = gates_TK.float().contiguous()
        if outputs_TKO is None:
            outputs_TKO = x_TD.new_empty(*gates_TK.shape, weights.d_out)
        mixed_TO = kernels.forward(x_TD.contiguous(), gates, pairs, weights, inputs_RF, outputs_TKO)
        if inputs_RF is not None:
            ctx.save_for_backward(gates, inputs_RF)
        ctx.work = (pairs, weights, kernels, gates_TK.dtype)
        return mixed_TO

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        gates_TK, inputs_RF = ctx.saved_tensors
        work: tuple[Pairs, ExpertWeights, ExpertKernels, torch.dtype] = ctx.work
        pairs, weights, kernels, gate_dtype = work
        grad_x_TD, grad_gates_TK = kernels.backward(
            grads[0].contiguous(), gates_TK, pairs, weights, inputs_RF, of_x=ctx.needs_input_grad[0]
        )
        return grad_x_TD, grad_gates_TK.to(gate_dtype), None, None, None, None, None
