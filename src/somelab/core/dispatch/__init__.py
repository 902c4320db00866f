"""Dispatch: compute each token's K experts and add up their gated outputs. One signature, several engines.

`reference` is the slow, obvious oracle. The other engines must agree with it, gradients included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

import torch
from torch import Tensor

from somelab.core.dispatch.choice import choose_for
from somelab.core.dispatch.frozen import dispatch_frozen, dispatch_native
from somelab.core.dispatch.grouped import dispatch_grouped
from somelab.core.dispatch.grouped_mm import dispatch_grouped_mm
from somelab.core.dispatch.hadamard_engines import HADAMARD
from somelab.core.dispatch.int8 import dispatch_int8
from somelab.core.dispatch.reference import dispatch_reference
from somelab.core.dispatch.weights import ExpertWeights


class Dispatch(Protocol):
    """An engine. Shape letters: O width of an expert's output: D, or F without an up-projection."""

    def __call__(
        self,
        x_TD: Tensor,
        indices_TK: Tensor,
        gates_TK: Tensor,
        weights: ExpertWeights,
        outputs_TKO: Tensor | None = None,
        /,
    ) -> Tensor:
        """sum_k gates_Tk expert[indices_Tk](x_T), [T, O]. `outputs_TKO`: memory in the compute type, filled
        with the per-expert outputs, without gradient."""
        ...


def dispatch_auto(
    x_TD: Tensor,
    indices_TK: Tensor,
    gates_TK: Tensor,
    weights: ExpertWeights,
    outputs_TKO: Tensor | None = None,
) -> Tensor:
    """The fastest engine for these weights on this device."""
    return ENGINES[choose_for(x_TD, weights)](x_TD, indices_TK, gates_TK, weights, outputs_TKO)


ENGINES: dict[str, Dispatch] = {
    "auto": dispatch_auto,
    "reference": dispatch_reference,
    "grouped": dispatch_grouped,
    "grouped_mm": dispatch_grouped_mm,
    "frozen": dispatch_frozen,
    "native": dispatch_native,
    "int8": dispatch_int8,
}


def engine(name: str) -> Dispatch:
    """An engine by the name that `experts.engine` gives it."""
    return ENGINES[name]


def keep_loops_uncompiled_() -> None:
    """Exclude the engines that loop over experts from torch.compile, which would trace one graph per block,
    and those that call compiled kernels."""
    for name in ("grouped", "frozen", "native", "int8"):
        ENGINES[name] = cast("Dispatch", torch.compiler.disable(ENGINES[name]))
    for name in HADAMARD:
        HADAMARD[name] = cast("Callable[..., Tensor]", torch.compiler.disable(HADAMARD[name]))


__all__ = ["ENGINES", "Dispatch", "ExpertWeights", "engine", "keep_loops_uncompiled_"]
