"""Frozen experts around a grouped matmul: forward and backward written by hand, no loop over experts, no
synchronisation with the host.

For CUDA, where a launch per expert costs more than its computation. The hidden inputs are stored, as in
`frozen`; the P x D intermediates that `frozen` avoids exist here during one call. Shape letters: T tokens, D
model width, F hidden width, O width of an output, W any width, E experts, K experts per token, P token-expert
pairs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from somelab.core.dispatch.blocks import SortedPairs, sort_by_expert
from somelab.core.dispatch.weights import ExpertWeights, compute_dtype


def dispatch_frozen_grouped(
    x_TD: Tensor,
    indices_TK: Tensor,
    gates_TK: Tensor,
    weights: ExpertWeights,
    outputs_TKO: Tensor | None = None,
) -> Tensor:
    """output_T = sum_k gates_Tk * expert[indices_Tk](x_T), for weights without gradient."""
    dtype = compute_dtype(x_TD)
    with torch.autocast(x_TD.device.type, enabled=False):
        pairs = sort_by_expert(indices_TK)
        mixed_TO, outputs_PO = _FrozenGrouped.apply(x_TD.to(dtype), gates_TK, pairs, weights)
        if outputs_TKO is not None:
            outputs_TKO.flatten(0, 1).index_copy_(0, pairs.order_P, outputs_PO)
        return mixed_TO


class _FrozenGrouped(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x_TD: Tensor, gates_TK: Tensor, pairs: SortedPairs, weights: ExpertWeights
    ) -> tuple[Tensor, Tensor]:
        ends_E = pairs.ends(weights.down_EFD.shape[0])
        x_PD = x_TD.index_select(0, pairs.token_P)
        input_PF = F.grouped_mm(x_PD, weights.down_EFD.to(x_TD.dtype).transpose(1, 2), offs=ends_E)
        input_PF += weights.down_bias_EF.to(x_TD.dtype)[pairs.expert_P]
        output_PO = F.gelu(input_PF)
        if weights.up_EDF is not None and weights.up_bias_ED is not None:
            output_PO = F.grouped_mm(output_PO, weights.up_EDF.to(x_TD.dtype).transpose(1, 2), offs=ends_E)
            output_PO += weights.up_bias_ED.to(x_TD.dtype)[pairs.expert_P]
        ctx.save_for_backward(gates_TK, input_PF)
        ctx.work = (pairs, ends_E, weights)
        ctx.mark_non_differentiable(output_PO)
        # Or backward would receive P x O zeros as the gradient of the outputs.
        ctx.set_materialize_grads(False)
        return _added_up(output_PO, pairs, gates_TK), output_PO

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if grads[0] is None:
            return None, None, None, None
        gates_TK, input_PF = ctx.saved_tensors
        work: tuple[SortedPairs, Tensor, ExpertWeights] = ctx.work
        pairs, ends_E, weights = work
        grad_PO = grads[0].index_select(0, pairs.token_P)
        dtype = grad_PO.dtype
        grad_PF = (
            grad_PO
            if weights.up_EDF is None
            else F.grouped_mm(grad_PO, weights.up_EDF.to(dtype), offs=ends_E)
        )
        grad_gate_P = (grad_PF * F.gelu(input_PF)).sum(dim=1, dtype=torch.float32)
        if weights.up_bias_ED is not None:
            grad_gate_P += (grad_PO * weights.up_bias_ED.to(dtype)[pairs.expert_P]).sum(
                dim=1, dtype=torch.float32
            )
        grad_input_PF = torch.ops.aten.gelu_backward(grad_PF, input_PF)
        grad_x_PD = F.grouped_mm(grad_input_PF, weights.down_EFD.to(dtype), offs=ends_E)
        return _added_up(grad_x_PD, pairs, gates_TK), pairs.back_to_tokens(grad_gate_P, gates_TK), None, None


def _added_up(value_PW: Tensor, pairs: SortedPairs, gates_TK: Tensor) -> Tensor:
    """sum_k gates_Tk value_Tk in fp32. Gathers K values per token, since index_add is not deterministic on
    CUDA."""
    place = torch.empty_like(pairs.order_P).index_copy_(
        0, pairs.order_P, torch.arange(len(value_PW), device=value_PW.device)
    )
    value_TKW = value_PW.index_select(0, place).view(*gates_TK.shape, value_PW.shape[1])
    return (value_TKW * gates_TK.float()[:, :, None]).sum(dim=1).to(value_PW.dtype)
