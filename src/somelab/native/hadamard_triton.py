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

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
UNITS_PER_WARP = 256


@triton.jit
def _signs(key, word, shift, WORDS: tl.constexpr, BITS: tl.constexpr):
    """-1 and 1 by the bits of WORDS hashes from counter `word` on: splitmix64, as `seeding.hashed`."""
    counter = (word + tl.arange(0, WORDS)).to(tl.uint64)
    state = (counter + 1) * 0x9E3779B97F4A7C15 + key.to(tl.uint64)
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB
    state = state ^ (state >> 31)
    place = (shift + tl.arange(0, BITS)).to(tl.uint64)
    bits = (state[:, None] >> place[None, :]) & 1
    return tl.reshape(1.0 - 2.0 * bits.to(tl.float32), (WORDS * BITS,))


@triton.jit
def _transform(x, WIDTH: tl.constexpr, STAGES: tl.constexpr):
    """The Walsh-Hadamard transform with entries 1 and -1: sums and differences of pairs, stage by stage."""
    for stage in tl.static_range(STAGES):
        pairs = tl.permute(tl.reshape(x, (WIDTH // (2 << stage), 2, 1 << stage)), (0, 2, 1))
        first, second = tl.split(pairs)
        x = tl.reshape(tl.permute(tl.join(first + second, first - second), (0, 2, 1)), (WIDTH,))
    return x


@triton.jit
def _factors(key, word, shared, shift, WORDS: tl.constexpr, BITS: tl.constexpr, MODULATED: tl.constexpr):
    """On the units of an expert: its signs; or shared ones, times the square root of two where it uses the
    unit, else 0."""
    signs = _signs(key, word, shift, WORDS, BITS)
    if MODULATED:
        signs = _signs(key, shared, shift, WORDS, BITS) * (1.0 + signs) * 0.7071067811865476
    return signs


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
    MODULATED: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    unit = tl.arange(0, WIDTH)
    q = tl.load(x + token * d_model + unit, mask=unit < d_model, other=0.0).to(tl.float32)
    total = tl.zeros((WIDTH,), tl.float32)
    for slot in range(num_slots):
        expert = tl.load(indices + token * num_slots + slot)
        gate = tl.load(gates + token * num_slots + slot)
        for block in range(num_blocks):
            first = block * WIDTH // 64
            word = expert * 2 * num_words + first
            shift = block * WIDTH % 64
            in_signs = _signs(key, first if MODULATED else word, shift, WORDS, BITS)
            z = _transform(q * in_signs, WIDTH, STAGES) * inner
            hidden = z * (0.5 + 0.5 * tl.erf(z * 0.7071067811865476))
            factors = _factors(key, word + num_words, first + num_words, shift, WORDS, BITS, MODULATED)
            total += gate * hidden * factors
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
    MODULATED: tl.constexpr,
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
            first = block * WIDTH // 64
            word = expert * 2 * num_words + first
            shift = block * WIDTH % 64
            in_signs = _signs(key, first if MODULATED else word, shift, WORDS, BITS)
            z = _transform(q * in_signs, WIDTH, STAGES) * inner
            below = 0.5 + 0.5 * tl.erf(z * 0.7071067811865476)
            grad = way * _factors(key, word + num_words, first + num_words, shift, WORDS, BITS, MODULATED)
            dot += tl.sum(grad * z * below)
            if not DOTS_ALONE:
                gate = tl.load(gates + token * num_slots + slot)
                slope = below + z * tl.exp(-0.5 * z * z) * 0.3989422804014327
                total += gate * in_signs * _transform(grad * slope, WIDTH, STAGES)
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
            sizes, shapes = _launch(pool, indices_TK)
            _forward[(len(x_TD),)](x_TD, indices_TK, gates_TK, units_TN, *sizes, **shapes)
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
        dots_TK = torch.empty(indices_TK.shape, device=x_TD.device)
        gates = dots_TK if gates_TK is None else gates_TK
        if len(x_TD):
            sizes, shapes = _launch(pool, indices_TK)
            tensors = (x_TD, indices_TK, gates, wanted_TD, grad_x_TD, dots_TK)
            alone = gates_TK is None
            _backward[(len(x_TD),)](*tensors, *sizes, pool.scale, **shapes, DOTS_ALONE=alone)
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
        "MODULATED": pool.modulated,
        "num_warps": max(1, min(8, width // UNITS_PER_WARP)),
    }
    return (*sizes, pool.d_model**-0.5), shapes
