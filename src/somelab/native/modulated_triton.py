"""Modulated experts on a GPU, in Triton: one program per token computes a single transform per block of units
and adds each expert's gate to the units that it uses (`modulated.cpp` does the same on a CPU).

Shape letters: T tokens, D model width, N width of a transform, F hidden units, K experts per token."""

# pyright: basic, reportMissingImports=false
# pyright: reportAttributeAccessIssue=false, reportArgumentType=false, reportIndexIssue=false
# pyright: reportCallIssue=false, reportOperatorIssue=false, reportGeneralTypeIssues=false

from __future__ import annotations

import triton
import triton.language as tl

from somelab.native.signs_triton import below, signs, slope, transform


@triton.jit
def _uses(key, expert, word, shift, num_words, WORDS: tl.constexpr, BITS: tl.constexpr):
    """The square root of two on the units that an expert uses, 0 on the others, for the block of units whose
    signs begin in `word`."""
    return (1.0 + signs(key, (2 * expert + 1) * num_words + word, shift, WORDS, BITS)) * 0.7071067811865476


@triton.jit
def _gates_of_units(
    key, indices, gates, first, num_slots, word, shift, num_words, WORDS: tl.constexpr, BITS: tl.constexpr
):
    """The sum of the gates of a token's experts that use a unit, for each unit of a block."""
    total = tl.zeros((WORDS * BITS,), tl.float32)
    for slot in range(num_slots):
        expert, gate = tl.load(indices + first + slot), tl.load(gates + first + slot)
        total += gate * _uses(key, expert, word, shift, num_words, WORDS, BITS)
    return total


@triton.jit(do_not_specialize=["key"])
def forward(
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
    first = token * num_slots
    total = tl.zeros((WIDTH,), tl.float32)
    for block in range(num_blocks):
        word, shift = block * WIDTH // 64, block * WIDTH % 64
        z = transform(q * signs(key, word, shift, WORDS, BITS), WIDTH, STAGES) * inner
        gate = _gates_of_units(key, indices, gates, first, num_slots, word, shift, num_words, WORDS, BITS)
        total += gate * z * below(z) * signs(key, word + num_words, shift, WORDS, BITS)
    tl.store(units + token * WIDTH + unit, total)


@triton.jit(do_not_specialize=["key"])
def backward(
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
    """dots, zeros at first: <expert(x), wanted>. Unless those are all that is asked for: the gradient of x,
    too."""
    token = tl.program_id(0).to(tl.int64)
    unit = tl.arange(0, WIDTH)
    inside = unit < d_model
    q = tl.load(x + token * d_model + unit, mask=inside, other=0.0).to(tl.float32)
    way = tl.load(wanted + token * d_model + unit % d_model).to(tl.float32)
    first = token * num_slots
    total = tl.zeros((WIDTH,), tl.float32)
    for block in range(num_blocks):
        word, shift = block * WIDTH // 64, block * WIDTH % 64
        in_signs = signs(key, word, shift, WORDS, BITS)
        z = transform(q * in_signs, WIDTH, STAGES) * inner
        below_z = below(z)
        grad = way * signs(key, word + num_words, shift, WORDS, BITS)
        for slot in range(num_slots):
            expert = tl.load(indices + first + slot)
            uses = _uses(key, expert, word, shift, num_words, WORDS, BITS)
            # Atomic, since the threads of a program do not see each other's stores between blocks.
            tl.atomic_add(dots + first + slot, tl.sum(grad * z * below_z * uses) * outer)
        if not DOTS_ALONE:
            gate = _gates_of_units(key, indices, gates, first, num_slots, word, shift, num_words, WORDS, BITS)
            total += in_signs * transform(gate * grad * slope(z, below_z), WIDTH, STAGES)
    if not DOTS_ALONE:
        value = (total * (inner * outer)).to(grad_x.dtype.element_ty)
        tl.store(grad_x + token * d_model + unit, value, mask=inside)
