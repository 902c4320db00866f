"""The engine for pools born in int8 on a processor that has no product of int8: compiled kernels multiply
rows of 7 bits with the pool's integers, by instructions that every processor with AVX2 has.

Tokens, hidden features and gradients are rounded to 63 steps to each side of zero, with a scale per row; sums
of products are exact. Seven bits, since the sums of two products must fit 16 bits. Shape letters: T tokens, D
model width, F hidden width, O width of an output, K experts per token, P token-expert pairs, N rows of one
block, V and W any width."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from somelab.core.dispatch.blocks import Block, SortedPairs, cut, sort_by_expert
from somelab.core.dispatch.kernels import CompiledKernels, registered
from somelab.core.dispatch.weights import ExpertWeights

INPUTS, OUTPUTS = 4, 16
"""Widths must be multiples of these."""


class Int8Kernels(Protocol):
    """On contiguous tensors in fp32. Rows are integers (unsigned, 64 is zero) and scales."""

    is_fast: bool
    """Whether the processor has the instructions; otherwise products are right, and slow."""

    def quantise(self, x_NW: Tensor) -> tuple[Tensor, Tensor]: ...

    def activate(self, x_NW: Tensor) -> tuple[Tensor, Tensor]:
        """The same of gelu(x)."""
        ...

    def product(
        self,
        rows: tuple[Tensor, Tensor],
        place_N: Tensor | None,
        matrix: Tensor,
        scale: float,
        out_NV: Tensor,
        *,
        transposed: bool,
    ) -> None:
        """out_n = scale matrix row(place_n): a matrix of V x W, or W x V if transposed."""
        ...


def kernels_for_int8(x_TD: Tensor, dtype: torch.dtype, weights: ExpertWeights) -> CompiledKernels | None:
    """Compiled kernels that are fast for these weights; None if there are none."""
    if x_TD.device.type != "cpu" or dtype != torch.float32 or weights.down_scale_E is None:
        return None
    if any(width % OUTPUTS for width in weights.down_EFD.shape[1:]):
        return None
    kernels = registered()
    return kernels if kernels is not None and kernels.int8.is_fast else None


class _Work(NamedTuple):
    pairs: SortedPairs
    blocks: list[Block]
    weights: ExpertWeights
    kernels: CompiledKernels
    down_scales: list[float]
    up_scales: list[float]


class Int8Rows(torch.autograd.Function):
    """Forward and backward by hand, as of the engine `frozen`: two products each."""

    @staticmethod
    def forward(
        ctx: Any,
        x_TD: Tensor,
        gates_TK: Tensor,
        indices_TK: Tensor,
        weights: ExpertWeights,
        kernels: CompiledKernels,
        keeps: bool,
        outputs_TKO: Tensor | None,
    ) -> Tensor:
        pairs = sort_by_expert(indices_TK)
        blocks = cut(pairs, weights.down_EFD.shape[0], x_TD.shape[0])
        work = _Work(pairs, blocks, weights, kernels, *_scales(weights))
        rows = max((block.end - block.begin for block in blocks), default=0)
        gate_P, d_ffn = pairs.gates(gates_TK), weights.down_EFD.shape[1]
        product_PF = x_TD.new_empty(len(gate_P) if keeps else rows, d_ffn)
        output_NO = x_TD.new_empty(rows, weights.d_out)
        mixed_TO = x_TD.new_zeros(x_TD.shape[0], weights.d_out)
        int8, zero_F = kernels.int8, x_TD.new_zeros(d_ffn)
        tokens = int8.quantise(x_TD.contiguous())
        for expert, begin, end, _ in blocks:
            token_N, count = pairs.token_P[begin:end], end - begin
            product_NF = product_PF[begin:end] if keeps else product_PF[:count]
            scale = work.down_scales[expert]
            int8.product(tokens, token_N, weights.down_EFD[expert], scale, product_NF, transposed=False)
            out_NO = output_NO[:count]
            if weights.up_EDF is None:
                kernels.activate(product_NF, zero_F, out_NO)
            else:
                hidden, up_DF = int8.activate(product_NF), weights.up_EDF[expert]
                int8.product(hidden, None, up_DF, work.up_scales[expert], out_NO, transposed=False)
            if outputs_TKO is not None:
                outputs_TKO.flatten(0, 1).index_copy_(0, pairs.order_P[begin:end], out_NO)
            kernels.mix_(mixed_TO, token_N, out_NO, None, gate_P[begin:end])
        ctx.save_for_backward(gates_TK, product_PF)
        ctx.work = work
        return mixed_TO

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        gates_TK, product_PF = ctx.saved_tensors
        work: _Work = ctx.work
        pairs, blocks, weights, kernels = work[:4]
        int8, grad_TO = kernels.int8, grads[0].contiguous()
        d_ffn, d_model = weights.down_EFD.shape[1:]
        rows = max((block.end - block.begin for block in blocks), default=0)
        gate_P, zero_F = pairs.gates(gates_TK), grad_TO.new_zeros(d_ffn)
        grad_gate_P = torch.zeros_like(gate_P)
        grad_x_TD = grad_TO.new_zeros(len(grad_TO), d_model)
        grad_rows_NF, grad_rows_ND = grad_TO.new_empty(rows, d_ffn), grad_TO.new_empty(rows, d_model)
        tokens = int8.quantise(grad_TO)
        for expert, begin, end, _ in blocks:
            token_N, count = pairs.token_P[begin:end], end - begin
            grad_NF, grad_ND = grad_rows_NF[:count], grad_rows_ND[:count]
            if weights.up_EDF is None:
                kernels.gather(grad_TO, token_N, grad_NF)
            else:
                up_DF, scale = weights.up_EDF[expert], work.up_scales[expert]
                int8.product(tokens, token_N, up_DF, scale, grad_NF, transposed=True)
            kernels.differentiate_(grad_NF, product_PF[begin:end], zero_F, grad_gate_P[begin:end])
            if ctx.needs_input_grad[0]:
                down_FD, scale = weights.down_EFD[expert], work.down_scales[expert]
                int8.product(int8.quantise(grad_NF), None, down_FD, scale, grad_ND, transposed=True)
                kernels.mix_(grad_x_TD, token_N, grad_ND, None, gate_P[begin:end])
        grad_gates_TK = pairs.back_to_tokens(grad_gate_P, gates_TK)
        return grad_x_TD, grad_gates_TK, None, None, None, None, None


def _scales(weights: ExpertWeights) -> tuple[list[float], list[float]]:
    down_E, up_E = weights.down_scale_E, weights.up_scale_E
    return [] if down_E is None else down_E.tolist(), [] if up_E is None else up_E.tolist()
