"""Which implementation computes Hadamard experts: fused kernels where there are any, else plain torch.

Shape letters: T tokens, D model width, K experts per token."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from somelab.core.dispatch.hadamard import (
    HadamardPool,
    hadamard_alignment,
    hadamard_in_blocks,
    hadamard_reference,
)
from somelab.core.dispatch.hadamard_fused import (
    HadamardKernels,
    hadamard_fused,
    hadamard_fused_alignment,
    kernels_for,
)
from somelab.core.dispatch.weights import compute_dtype
from somelab.errors import ConfigError

NAMES = ("auto", "reference", "native")
"""Values of `experts.engine`. native: kernels or an error; auto: kernels, or torch in blocks of tokens."""


def _mixture(
    engine: str,
    x_TD: Tensor,
    indices_TK: Tensor,
    gates_TK: Tensor,
    pool: HadamardPool,
    outputs_TKD: Tensor | None = None,
) -> Tensor:
    kernels = None if outputs_TKD is not None else _kernels(engine, x_TD)
    if kernels is not None:
        return hadamard_fused(x_TD, indices_TK, gates_TK, pool, kernels)
    compute = hadamard_reference if engine == "reference" else hadamard_in_blocks
    return compute(x_TD, indices_TK, gates_TK, pool, outputs_TKD)


def _alignment(
    engine: str, x_TD: Tensor, indices_TK: Tensor, wanted_TD: Tensor, pool: HadamardPool
) -> Tensor:
    kernels = _kernels(engine, x_TD)
    if kernels is not None:
        return hadamard_fused_alignment(x_TD, indices_TK, wanted_TD, pool, kernels)
    return hadamard_alignment(x_TD, indices_TK, wanted_TD, pool)


def _kernels(engine: str, x_TD: Tensor) -> HadamardKernels | None:
    """Fused kernels for these tokens; None: torch computes them."""
    if engine == "reference" or torch.compiler.is_compiling():
        return None
    dtype = compute_dtype(x_TD)
    kernels = kernels_for(x_TD.device.type, dtype)
    if kernels is None and engine == "native":
        problem = f"no compiled kernels for {dtype} on {x_TD.device.type} are loaded"
        remedy = "call somelab.native.load(), see `somelab doctor` for what is missing, or choose auto"
        raise ConfigError("experts.engine", "native", problem, remedy)
    return kernels


HADAMARD: dict[str, Callable[..., Tensor]] = {"mixture": _mixture, "alignment": _alignment}
"""What the family calls. `keep_loops_uncompiled_` excludes them from torch.compile, so that kernels are
used."""
