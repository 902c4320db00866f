"""Experts without matrices on a GPU, in Triton: one program per token computes its experts from signs to sum,
and again in backward. Imported only where a GPU and Triton are there (`loading.load`).

Shape letters: T tokens, D model width, N width of a transform, F hidden units, K experts per token."""

# Triton has no types, and its kernels are not Python: they are compiled from this source.
# pyright: basic, reportMissingImports=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportIndexIssue=false
# pyright: reportCallIssue=false, reportOperatorIssue=false, reportGeneralTypeIssues=false

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn import functional as F

from somelab.core.dispatch.hadamard import WORD, HadamardPool
from somelab.native import modulated_triton
from somelab.native.signs_triton import below, signs, slope, transform

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
UNITS_PER_WARP = 256


@triton.jit(do_not_specialize=["key"])
def _forward(
    x,
    indices,
    gates,
    units,
    key,
    num_slots,
    num_blocks,
    num_words,
    d_model,
    inner,
    WIDTH: tl.constexpr,
    STAGES: tl.constexpr,
    WORDS: tl.constexpr,
    BITS: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    unit = tl.arange(0, WIDTH)
    q = tl.load(x + token * d_model + unit, mask=unit < d_model, other=0.0).to(tl.float32)
    total = tl.zeros((WIDTH,), tl.float32)
    for slot in range(num_slots):
        expert = tl.load(indices + token * num_slots + slot)
        gate = tl.load(gates + token * num_slots + slot)
        for block in range(num_blocks):
            word = expert * 2 * num_words + block * WIDTH // 64
            shift = block * WIDTH % 64
            z = transform(q * signs(key, word, shift, WORDS, BITS), WIDTH, STAGES) * inner
            total += gate * z * below(z) * signs(key, word + num_words, shift, WORDS, BITS)
    tl.store(units + token * WIDTH + unit, total)


@triton.jit(do_not_specialize=["key"])
def _backward(
    x,
    indices,
    gates,
    wanted,
    grad_x,
    dots,
    key,
    num_slots,
    num_blocks,
    num_words,
    d_model,
    inner,
    outer,
    WIDTH: tl.constexpr,
    STAGES: tl.constexpr,
    WORDS: tl.constexpr,
    BITS: tl.constexpr,
    DOTS_ALONE: tl.constexpr,
):
    """dots: <expert(x), wanted>. Unless those are all that is asked for: the gradient of x, too."""
    token = tl.program_id(0).to(tl.int64)
    unit = tl.arange(0, WIDTH)
    inside = unit < d_model
    q = tl.load(x + token * d_model + unit, mask=inside, other=0.0).to(tl.float32)
    way = tl.load(wanted + token * d_model + unit % d_model).to(tl.float32)
    total = tl.zeros((WIDTH,), tl.float32)
    for slot in range(num_slots):
        expert = tl.load(indices + token * num_slots + slot)
        dot = 0.0
        for block in range(num_blocks):
            word = expert * 2 * num_words + block * WIDTH // 64
            shift = block * WIDTH % 64
            in_signs = signs(key, word, shift, WORDS, BITS)
            z = transform(q * in_signs, WIDTH, STAGES) * inner
            below_z = below(z)
            grad = way * signs(key, word + num_words, shift, WORDS, BITS)
            dot += tl.sum(grad * z * below_z)
            if not DOTS_ALONE:
                gate = tl.load(gates + token * num_slots + slot)
                total += gate * in_signs * transform(grad * slope(z, below_z), WIDTH, STAGES)
        tl.store(dots + token * num_slots + slot, dot * outer)
    if not DOTS_ALONE:
        value = (total * (inner * outer)).to(grad_x.dtype.element_ty)
        tl.store(grad_x + token * d_model + unit, value, mask=inside)


class TritonHadamard:
    """Implements `somelab.core.dispatch.hadamard_fused.HadamardKernels` on CUDA."""

    def supports(self, device_type: str, dtype: torch.dtype) -> bool:
        return device_type == "cuda" and dtype in DTYPES

    def forward(self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, pool: HadamardPool) -> Tensor:
        units_TN = torch.empty(len(x_TD), pool.width, device=x_TD.device)
        if len(x_TD):
            kernel = modulated_triton.forward if pool.modulated else _forward
            sizes, shapes = _launch(pool, indices_TK)
            kernel[(len(x_TD),)](x_TD, indices_TK, gates_TK, units_TN, *sizes, **shapes)
        wrapped = F.pad(units_TN, (0, 2 * pool.d_model - pool.width)).view(len(x_TD), 2, pool.d_model)
        return (wrapped.sum(dim=1) * pool.scale).to(x_TD.dtype)

    def align(self, x_TD: Tensor, indices_TK: Tensor, wanted_TD: Tensor, pool: HadamardPool) -> Tensor:
        return self._dots(x_TD, indices_TK, None, wanted_TD, pool)[1]

    def backward(
        self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, grad_TD: Tensor, pool: HadamardPool
    ) -> tuple[Tensor, Tensor]:
        return self._dots(x_TD, indices_TK, gates_TK, grad_TD, pool)

    def _dots(
        self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor | None, wanted_TD: Tensor, pool: HadamardPool
    ) -> tuple[Tensor, Tensor]:
        grad_x_TD = x_TD if gates_TK is None else torch.empty_like(x_TD)
        dots_TK = torch.zeros(indices_TK.shape, device=x_TD.device)
        gates = dots_TK if gates_TK is None else gates_TK
        if len(x_TD):
            sizes, shapes = _launch(pool, indices_TK)
            tensors = (x_TD, indices_TK, gates, wanted_TD, grad_x_TD, dots_TK)
            kernel = modulated_triton.backward if pool.modulated else _backward
            kernel[(len(x_TD),)](*tensors, *sizes, pool.scale, **shapes, DOTS_ALONE=gates_TK is None)
        return grad_x_TD, dots_TK


def _launch(pool: HadamardPool, indices_TK: Tensor) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The numbers that both kernels take: those of a call, and those they are compiled for."""
    width = pool.width
    sizes = (pool.key, indices_TK.shape[1], pool.d_ffn // width, pool.num_words, pool.d_model)
    shapes = {
        "WIDTH": width,
        "STAGES": width.bit_length() - 1,
        "WORDS": max(1, width // WORD),
        "BITS": min(width, WORD),
        "num_warps": max(1, min(8, width // UNITS_PER_WARP)),
    }
    return (*sizes, pool.d_model**-0.5), shapes
