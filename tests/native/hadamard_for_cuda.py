"""Compiles the Triton kernels for a GPU of compute capability 8.0, without one. Prints the size of each
program."""

from __future__ import annotations

# pyright: basic, reportMissingImports=false, reportPrivateUsage=false
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from somelab.native import hadamard_triton, modulated_triton

NUMBERS = {"key": "i64", "inner": "fp32", "outer": "fp32"}
SIZES = dict.fromkeys(("num_slots", "num_blocks", "num_words", "d_model"), "i32")
SHAPES = {"WIDTH": 512, "STAGES": 9, "WORDS": 8, "BITS": 64}
FORWARD = {"x": "*fp32", "indices": "*i64", "gates": "*fp32", "units": "*fp32"}
BACKWARD = {**FORWARD, "wanted": "*bf16", "x": "*bf16", "grad_x": "*bf16", "dots": "*fp32"}


def size(kernel: Any, pointers: dict[str, str], constants: dict[str, Any]) -> int:
    types = {**NUMBERS, **SIZES, **pointers}
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    source = ASTSource(fn=kernel, signature=signature, constexprs=places)
    return len(triton.compile(source, target=GPUTarget("cuda", 80, 32)).asm["cubin"])


for forward, backward in (
    (hadamard_triton._forward, hadamard_triton._backward),
    (modulated_triton.forward, modulated_triton.backward),
):
    print(size(forward, FORWARD, SHAPES))
    for alone in (False, True):
        print(size(backward, BACKWARD, {**SHAPES, "DOTS_ALONE": alone}))
