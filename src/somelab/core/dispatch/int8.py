"""The engine for pools born in int8: all four products of frozen experts in integers. Tokens, hidden features
and gradients are rounded to 8 bits, with a scale per row, just before their product.

The weights lose nothing: the integers are the pool. The oracle computes the same integers in fp32; what
differs is the rounding of rows, half a step of 1/127 of a row's largest value. Without VNNI or AMX, torch
multiplies int8 far slower than fp32: compiled kernels do it then, with rows of 7 bits (`int8_rows`); without
those, `auto` takes another engine, which multiplies the integers as fp32.
Shape letters: T tokens, D model width, F hidden width, O width of an output, E experts, K experts per token,
P token-expert pairs, N rows of one block, V and W any width."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from somelab.core.dispatch.blocks import Block, SortedPairs, cut, sort_by_expert
from somelab.core.dispatch.int8_rows import Int8Rows, kernels_for_int8
from somelab.core.dispatch.weights import ExpertWeights, can_be_frozen, compute_dtype
from somelab.errors import ConfigError

LARGEST = 127


@lru_cache
def multiplies_int8() -> bool:
    """Whether this processor has instructions for products of int8."""
    return torch.cpu._is_vnni_supported() or torch.cpu._is_amx_tile_supported()  # pyright: ignore[reportPrivateUsage]


def dispatch_int8(
    x_TD: Tensor,
    indices_TK: Tensor,
    gates_TK: Tensor,
    weights: ExpertWeights,
    outputs_TKO: Tensor | None = None,
) -> Tensor:
    """output_T = sum_k gates_Tk * expert[indices_Tk](x_T), for a frozen pool of integers."""
    if weights.down_scale_E is None:
        raise ConfigError(
            "experts.engine", "int8", "this pool is not stored in int8", "set experts.storage to int8"
        )
    if not can_be_frozen(weights):
        raise ConfigError(
            "experts.engine", "int8", "these experts are trained or carry adapters", "choose auto or grouped"
        )
    dtype = compute_dtype(x_TD)
    keeps = torch.is_grad_enabled() and (x_TD.requires_grad or gates_TK.requires_grad)
    kernels = None if multiplies_int8() else kernels_for_int8(x_TD, dtype, weights)
    with torch.autocast(x_TD.device.type, enabled=False):
        if kernels is not None:
            return Int8Rows.apply(x_TD.to(dtype), gates_TK, indices_TK, weights, kernels, keeps, outputs_TKO)
        return _Int8Experts.apply(x_TD.to(dtype), gates_TK, indices_TK, weights, keeps, outputs_TKO)


def quantised(x_NW: Tensor) -> tuple[Tensor, Tensor]:
    """Rows as integers from -127 to 127 and a scale each: x_n = scale_n * integers_n, to half a step."""
    x_NW = x_NW.float()
    scale_N = x_NW.abs().amax(dim=1).clamp(min=1e-30) / LARGEST
    return (x_NW / scale_N[:, None]).round_().to(torch.int8), scale_N


class _Products:
    """Products of one block's rows with one expert's integers. A product takes whole buckets of rows; those
    that fill the last one up hold arbitrary integers and are never read."""

    def __init__(self, blocks: list[Block], device: torch.device) -> None:
        self.rows = max((block.num_rows for block in blocks), default=0)
        self.device = device
        self._integers = dict[int, Tensor]()
        self._products = dict[int, Tensor]()

    def __call__(self, rows: tuple[Tensor, Tensor], matrix_WV: Tensor, scale: Tensor, size: int) -> Tensor:
        """[N, V] fp32. `rows`: integers [N, W] and scales; `scale`: that of the matrix."""
        integers_NW, scale_N = rows
        (count, width), out_width = integers_NW.shape, matrix_WV.shape[1]
        padded = self._buffer(self._integers, width, torch.int8)
        padded[:count].copy_(integers_NW)
        product = self._buffer(self._products, out_width, torch.int32)
        torch.ops.aten._int_mm.out(padded[:size], matrix_WV, out=product[:size])
        return product[:count] * (scale_N * scale)[:, None]

    def _buffer(self, kept: dict[int, Tensor], width: int, dtype: torch.dtype) -> Tensor:
        if width not in kept:
            kept[width] = torch.zeros(self.rows, width, dtype=dtype, device=self.device)
        return kept[width]


class _Int8Experts(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x_TD: Tensor,
        gates_TK: Tensor,
        indices_TK: Tensor,
        weights: ExpertWeights,
        keeps: bool,
        outputs_TKO: Tensor | None,
    ) -> Tensor:
        num_tokens, d_ffn = x_TD.shape[0], weights.down_EFD.shape[1]
        down_scale_E, up_scale_E = weights.down_scale_E, weights.up_scale_E
        assert down_scale_E is not None
        pairs = sort_by_expert(indices_TK)
        blocks = cut(pairs, weights.down_EFD.shape[0], num_tokens)
        multiply = _Products(blocks, x_TD.device)
        gate_P, (integers_TD, scale_T) = pairs.gates(gates_TK), quantised(x_TD)
        inputs_PF = torch.empty(gate_P.shape[0] if keeps else 0, d_ffn, device=x_TD.device)
        mixed_TO = torch.zeros(num_tokens, weights.d_out, device=x_TD.device)
        for expert, begin, end, size in blocks:
            token_N = pairs.token_P[begin:end]
            rows = integers_TD.index_select(0, token_N), scale_T[token_N]
            input_NF = multiply(rows, weights.down_EFD[expert].T, down_scale_E[expert], size)
            if keeps:
                inputs_PF[begin:end] = input_NF
            output_NO = F.gelu(input_NF)
            if weights.up_EDF is not None and up_scale_E is not None:
                output_NO = multiply(quantised(output_NO), weights.up_EDF[expert].T, up_scale_E[expert], size)
            if outputs_TKO is not None:
                outputs = outputs_TKO.flatten(0, 1)
                outputs.index_copy_(0, pairs.order_P[begin:end], output_NO.to(outputs.dtype))
            mixed_TO.index_add_(0, token_N, output_NO * gate_P[begin:end, None])
        ctx.save_for_backward(gates_TK, inputs_PF)
        ctx.work = (pairs, blocks, weights, multiply)
        return mixed_TO.to(x_TD.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        gates_TK, inputs_PF = ctx.saved_tensors
        work: tuple[SortedPairs, list[Block], ExpertWeights, _Products] = ctx.work
        pairs, blocks, weights, multiply = work
        down_scale_E, up_scale_E = weights.down_scale_E, weights.up_scale_E
        assert down_scale_E is not None
        grad_TO = grads[0]
        gate_P, (integers_TO, scale_T) = pairs.gates(gates_TK), quantised(grad_TO)
        grad_gate_P = torch.empty_like(gate_P)
        grad_x_TD = torch.zeros(grad_TO.shape[0], weights.down_EFD.shape[2], device=grad_TO.device)
        for expert, begin, end, size in blocks:
            token_N, input_NF = pairs.token_P[begin:end], inputs_PF[begin:end]
            if weights.up_EDF is not None and up_scale_E is not None:
                rows = integers_TO.index_select(0, token_N), scale_T[token_N]
                grad_NF = multiply(rows, weights.up_EDF[expert], up_scale_E[expert], size)
            else:
                grad_NF = grad_TO.index_select(0, token_N).float()
            grad_gate_P[begin:end] = (grad_NF * F.gelu(input_NF)).sum(dim=1)
            if ctx.needs_input_grad[0]:
                rows = quantised(torch.ops.aten.gelu_backward(grad_NF, input_NF))
                grad_ND = multiply(rows, weights.down_EFD[expert], down_scale_E[expert], size)
                grad_x_TD.index_add_(0, token_N, grad_ND * gate_P[begin:end, None])
        grad_gates_TK = pairs.back_to_tokens(grad_gate_P, gates_TK)
        return grad_x_TD.to(grad_TO.dtype), grad_gates_TK, None, None, None, None
