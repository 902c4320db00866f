"""Dispatch: compute each token's K experts and add up their gated answers. One signature, several engines.

`reference` is the oracle: slow and obvious. The others must equal it, gradients included."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor

from somelab.core.dispatch.choice import choose_for
from somelab.core.dispatch.frozen import dispatch_frozen, dispatch_native
from somelab.core.dispatch.grouped import dispatch_grouped
from somelab.core.dispatch.grouped_mm import dispatch_grouped_mm
from somelab.core.dispatch.reference import dispatch_reference
from somelab.core.dispatch.weights import ExpertWeights

Dispatch = Callable[[Tensor, Tensor, Tensor, ExpertWeights], Tensor]
"""(x_TD, indices_TK, gates_TK, weights) -> answers_TD, or the mixed hidden features_TF where there is no up-projection."""


def dispatch_auto(x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, weights: ExpertWeights) -> Tensor:
    """The fastest engine for these weights on this device."""
    return ENGINES[choose_for(x_TD, weights)](x_TD, indices_TK, gates_TK, weights)


ENGINES: dict[str, Dispatch] = {
    "auto": dispatch_auto,
    "reference": dispatch_reference,
    "grouped": dispatch_grouped,
    "grouped_mm": dispatch_grouped_mm,
    "frozen": dispatch_frozen,
    "native": dispatch_native,
}


def engine(name: str) -> Dispatch:
    """An engine by the name that `experts.engine` gives it."""
    return ENGINES[name]


def keep_loops_uncompiled_() -> None:
    """Tell torch.compile to step around the engines that loop over experts: traced, they would be a graph a block."""
    for name in ("grouped", "frozen", "native"):
        ENGINES[name] = cast("Dispatch", torch.compiler.disable(ENGINES[name]))


__all__ = ["ENGINES", "Dispatch", "ExpertWeights", "engine", "keep_loops_uncompiled_"]
