"""The engine for experts that are not trained: forward and backward written by hand, so that nothing unused
is stored or computed.

A frozen expert needs no weight gradient, so backward is two matmuls instead of four, and only the hidden
inputs are kept. The gate's gradient comes from dY W_up, which backward needs anyway:
<dY, W_up h + b> = <dY W_up, h> + <dY, b>, so outputs are not kept either. Gates multiply the D-wide
products, never the F-wide features. Blocks of one expert pass through buffers that are reused and stay in
cache. Passes over memory beside the four products:

    kernels   forward                                     backward
    torch     P x F: bias, gelu                           P x F: gelu, multiply, sum, gelu'
              P x D: gather, bias, weigh, add             P x D: gather, multiply with bias, sum, weigh, add
    native    P x F: gelu                                 P x F: gelu' and the gate's gradient in one
              P x D: gather, add                          P x D: gather, add

In fp32 `native` computes the products as well (`frozen_fused`): one call a pass, no loop over experts here.
Shape letters: T tokens, D model width, F hidden width, O width of an output, E experts, K experts per token,
P token-expert pairs, N rows of one block."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from somelab.core.dispatch.blocks import BUCKET, Block, SortedPairs, cut, sort_by_expert
from somelab.core.dispatch.frozen_fused import ExpertKernels, FusedExperts, fits_fused
from somelab.core.dispatch.kernels import TORCH, Kernels, registered
from somelab.core.dispatch.weights import ExpertWeights, can_be_frozen, compute_dtype
from somelab.errors import ConfigError


def dispatch_frozen(
    x_TD: Tensor,
    indices_TK: Tensor,
    gates_TK: Tensor,
    weights: ExpertWeights,
    outputs_TKO: Tensor | None = None,
) -> Tensor:
    """output_T = sum_k gates_Tk * expert[indices_Tk](x_T), for weights without gradient, by torch's own
    functions."""
    return _dispatch("frozen", TORCH, x_TD, indices_TK, gates_TK, weights, outputs_TKO)


def dispatch_native(
    x_TD: Tensor,
    indices_TK: Tensor,
    gates_TK: Tensor,
    weights: ExpertWeights,
    outputs_TKO: Tensor | None = None,
) -> Tensor:
    """The same by compiled kernels: whole experts in fp32, else what stands between the products."""
    kernels = registered()
    if kernels is None:
        remedy = "call somelab.native.load() or see `somelab doctor` for what is missing, or choose auto"
        raise ConfigError("experts.engine", "native", "no compiled kernels are loaded", remedy)
    dtype = compute_dtype(x_TD)
    if not kernels.supports(x_TD.device.type, dtype):
        raise ConfigError(
            "experts.engine", "native", f"it cannot compute {dtype} on {x_TD.device.type}", "choose auto"
        )
    fused = kernels.experts if kernels.experts.is_fast and fits_fused(x_TD, dtype, weights) else None
    return _dispatch("native", kernels, x_TD, indices_TK, gates_TK, weights, outputs_TKO, fused)


def _dispatch(
    name: str,
    kernels: Kernels,
    x_TD: Tensor,
    indices_TK: Tensor,
    gates_TK: Tensor,
    weights: ExpertWeights,
    outputs_TKO: Tensor | None,
    fused: ExpertKernels | None = None,
) -> Tensor:
    if not can_be_frozen(weights):
        raise ConfigError(
            "experts.engine", name, "these experts are trained or carry adapters", "choose auto or grouped"
        )
    dtype = compute_dtype(x_TD)
    keeps = torch.is_grad_enabled() and (x_TD.requires_grad or gates_TK.requires_grad)
    with torch.autocast(x_TD.device.type, enabled=False):
        x_TD = x_TD.to(dtype)
        if fused is not None:
            return FusedExperts.apply(x_TD, gates_TK, indices_TK, weights, fused, keeps, outputs_TKO)
        return _FrozenExperts.apply(x_TD, gates_TK, indices_TK, weights, kernels, keeps, outputs_TKO)


class _Typed:
    """One expert's weights in the type that is computed in. If stored in another type, a copy exists for one
    product."""

    def __init__(self, weights: ExpertWeights, dtype: torch.dtype, kernels: Kernels) -> None:
        self.weights, self.dtype = weights, dtype
        self.bias_dtype = torch.float32 if kernels.adds_bias else dtype

    def down(self, expert: int) -> Tensor:
        return self.weights.down(expert, self.dtype)

    def down_bias(self, expert: int) -> Tensor:
        return self.weights.down_bias_EF[expert].to(self.bias_dtype)

    def up(self, expert: int) -> Tensor | None:
        return self.weights.up(expert, self.dtype)

    def up_bias(self, expert: int) -> Tensor | None:
        return (
            None if self.weights.up_bias_ED is None else self.weights.up_bias_ED[expert].to(self.bias_dtype)
        )


class _FrozenExperts(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x_TD: Tensor,
        gates_TK: Tensor,
        indices_TK: Tensor,
        weights: ExpertWeights,
        kernels: Kernels,
        keeps: bool,
        outputs_TKO: Tensor | None,
    ) -> Tensor:
        num_tokens, d_ffn, d_out = x_TD.shape[0], weights.down_EFD.shape[1], weights.d_out
        x_TD = x_TD.contiguous()
        typed = _Typed(weights, x_TD.dtype, kernels)
        pairs = sort_by_expert(indices_TK)
        blocks = cut(pairs, weights.down_EFD.shape[0], num_tokens)
        gate_P = pairs.gates(gates_TK)
        rows = max((block.num_rows for block in blocks), default=0)
        x_ND = x_TD.new_zeros(rows, x_TD.shape[1])  # zeros: the rows that fill a block must be finite
        # The rows that fill a block overlap the next block, which is computed later; the last needs memory of
        # its own.
        product_PF = x_TD.new_empty(gate_P.shape[0] + BUCKET if keeps else rows, d_ffn)
        hidden_NF = x_TD.new_empty(rows, d_ffn) if keeps else product_PF
        output_NO = x_TD.new_empty(rows, d_out) if weights.up_EDF is not None else hidden_NF
        # In fp32, so that the sum of K outputs keeps its precision.
        mixed_TO = torch.zeros(num_tokens, d_out, device=x_TD.device)
        for expert, begin, end, size in blocks:
            token_N, num_pairs = pairs.token_P[begin:end], end - begin
            product_NF = product_PF[begin : begin + size] if keeps else product_PF[:size]
            bias_F, bias_O, up_DF = typed.down_bias(expert), typed.up_bias(expert), typed.up(expert)
            kernels.gather(x_TD, token_N, x_ND[:num_pairs])
            _product_(x_ND[:size], typed.down(expert), bias_F, kernels, out=product_NF)
            kernels.activate(product_NF, bias_F, hidden_NF[:size])
            if up_DF is not None:
                _product_(hidden_NF[:size], up_DF, bias_O, kernels, out=output_NO[:size])
            if outputs_TKO is not None:  # before the gates are applied in place
                whole_NO = _with_bias(output_NO[:num_pairs], bias_O, kernels)
                outputs_TKO.flatten(0, 1).index_copy_(0, pairs.order_P[begin:end], whole_NO)
            kernels.mix_(mixed_TO, token_N, output_NO[:num_pairs], bias_O, gate_P[begin:end])
        ctx.save_for_backward(gates_TK, product_PF)
        ctx.work = (pairs, blocks, typed, kernels)
        return mixed_TO.to(x_TD.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        gates_TK, product_PF = ctx.saved_tensors
        work: tuple[SortedPairs, list[Block], _Typed, Kernels] = ctx.work
        pairs, blocks, typed, kernels = work
        grad_TO = grads[0].contiguous()
        d_ffn, d_model = typed.weights.down_EFD.shape[1:]
        rows = max((block.num_rows for block in blocks), default=0)
        gate_P = pairs.gates(gates_TK)
        grad_gate_P = torch.empty_like(gate_P)
        grad_NO = grad_TO.new_zeros(rows, grad_TO.shape[1])
        grad_NF = grad_TO.new_empty(rows, d_ffn) if typed.weights.up_EDF is not None else grad_NO
        product_ND = grad_TO.new_empty(rows, d_model)
        grad_x_TD = torch.zeros(grad_TO.shape[0], d_model, device=grad_TO.device)
        for expert, begin, end, size in blocks:
            token_N, num_pairs, up_DF = pairs.token_P[begin:end], end - begin, typed.up(expert)
            kernels.gather_dot(
                grad_TO, token_N, typed.up_bias(expert), grad_NO[:num_pairs], grad_gate_P[begin:end]
            )
            if up_DF is not None:
                torch.mm(grad_NO[:size], up_DF, out=grad_NF[:size])
            # Both gradients start from grad_NF: the gate is not in it yet.
            bias_F = typed.down_bias(expert)
            kernels.differentiate_(grad_NF[:num_pairs], product_PF[begin:end], bias_F, grad_gate_P[begin:end])
            if ctx.needs_input_grad[0]:
                torch.mm(grad_NF[:size], typed.down(expert), out=product_ND[:size])
                kernels.mix_(grad_x_TD, token_N, product_ND[:num_pairs], None, gate_P[begin:end])
        return (
            grad_x_TD.to(typed.dtype),
            pairs.back_to_tokens(grad_gate_P, gates_TK),
            None,
            None,
            None,
            None,
            None,
        )


def _with_bias(output_NO: Tensor, bias_O: Tensor | None, kernels: Kernels) -> Tensor:
    """A product as the expert's output: with the bias that the kernels would add."""
    return (output_NO + bias_O).to(output_NO.dtype) if kernels.adds_bias and bias_O is not None else output_NO


def _product_(
    x_NI: Tensor, weight_OI: Tensor, bias_O: Tensor | None, kernels: Kernels, *, out: Tensor
) -> None:
    """out = W x + b, or W x where the kernels add b."""
    if kernels.adds_bias or bias_O is None:
        torch.mm(x_NI, weight_OI.T, out=out)
    else:
        torch.addmm(bias_O, x_NI, weight_OI.T, out=out)
