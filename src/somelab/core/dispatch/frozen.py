"""The engine for experts that are not trained: forward and backward written out, so that nothing is kept or computed in vain.

A frozen expert needs no weight gradient, so backward is two matmuls instead of four, and only the hidden inputs are
kept. The gate's gradient comes from dY W_up, which backward needs anyway: <dY, W_up h + b> = <dY W_up, h> + <dY, b>, so
answers are not kept either. Rows pass through small buffers that stay in cache, one expert at a time.
Shape letters: T tokens, D model width, F hidden width, E experts, K experts per token, P padded rows, N rows of one expert."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from somelab.core.dispatch.rows import Rows, arrange
from somelab.core.dispatch.weights import ExpertWeights


def dispatch_frozen(x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, weights: ExpertWeights) -> Tensor:
    """answers_T = sum_k gates_Tk * expert[indices_Tk](x_T), for weights without gradient."""
    assert can_be_frozen(weights)
    device = x_TD.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x_TD.dtype
    with torch.autocast(device, enabled=False):
        return _FrozenExperts.apply(x_TD.to(dtype), gates_TK, indices_TK, weights)


def can_be_frozen(weights: ExpertWeights) -> bool:
    """Whether nothing inside the experts is trained."""
    adapted = weights.gains_EF is not None or weights.lora_down_in_ERD is not None
    return not adapted and not weights.down_EFD.requires_grad


class _FrozenExperts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_TD: Tensor, gates_TK: Tensor, indices_TK: Tensor, weights: ExpertWeights) -> Tensor:
        rows = arrange(indices_TK, weights.down_EFD.shape[0])
        gate_P = rows.gates(gates_TK)
        keeps = any(ctx.needs_input_grad[:2])
        inputs_PF = x_TD.new_empty(rows.num_rows if keeps else rows.largest, weights.down_EFD.shape[1])
        mixed_TO = torch.zeros(x_TD.shape[0], weights.d_out, device=x_TD.device)  # fp32: K answers add up without loss
        for expert, begin, end in rows.spans:
            token_N = rows.token_P[begin:end]
            input_NF = inputs_PF[begin:end] if keeps else inputs_PF[: end - begin]
            down_FD, bias_F = _cast(weights.down_EFD[expert], x_TD), _cast(weights.down_bias_EF[expert], x_TD)
            torch.addmm(bias_F, x_TD.index_select(0, token_N), down_FD.T, out=input_NF)
            answer_NO = F.gelu(input_NF)
            if weights.up_EDF is not None and weights.up_bias_ED is not None:
                up_DF, bias_D = _cast(weights.up_EDF[expert], x_TD), _cast(weights.up_bias_ED[expert], x_TD)
                answer_NO = torch.addmm(bias_D, answer_NO, up_DF.T)
            mixed_TO.index_add_(0, token_N, answer_NO * gate_P[begin:end, None])
        ctx.save_for_backward(x_TD, gates_TK, inputs_PF)
        ctx.rows, ctx.weights = rows, weights
        return mixed_TO.to(x_TD.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        x_TD, gates_TK, inputs_PF = ctx.saved_tensors
        rows: Rows = ctx.rows
        weights: ExpertWeights = ctx.weights
        grad_TO = grads[0].contiguous()
        gate_P = rows.gates(gates_TK)
        grad_gate_P = torch.zeros_like(gate_P)
        grad_x_TD = torch.zeros(x_TD.shape, device=x_TD.device)
        for expert, begin, end in rows.spans:
            token_N, input_NF = rows.token_P[begin:end], inputs_PF[begin:end]
            grad_NO = grad_TO.index_select(0, token_N)
            # d answer / d hidden before the gate: the one product that both gradients below start from.
            grad_NF = grad_NO if weights.up_EDF is None else grad_NO @ _cast(weights.up_EDF[expert], x_TD)
            through_gate_N = (grad_NF * F.gelu(input_NF)).sum(dim=1, dtype=torch.float32)
            if weights.up_bias_ED is not None:
                through_gate_N += (grad_NO @ _cast(weights.up_bias_ED[expert], x_TD)).float()
            grad_gate_P[begin:end] = through_gate_N
            grad_input_NF = torch.ops.aten.gelu_backward(grad_NF * gate_P[begin:end, None].to(grad_NF.dtype), input_NF)
            grad_x_TD.index_add_(0, token_N, (grad_input_NF @ _cast(weights.down_EFD[expert], x_TD)).float())
        return grad_x_TD.to(x_TD.dtype), rows.back_to_tokens(grad_gate_P, gates_TK), None, None


def _cast(weight: Tensor, like: Tensor) -> Tensor:
    """Frozen weights may be kept in another type than tokens are computed in; the copy lives for one matmul."""
    return weight.to(like.dtype)
