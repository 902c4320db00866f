"""Dispatch: compute each token's K experts and add up their gated answers. One signature, several engines.

`reference` is the oracle: slow and obvious. The others must equal it, gradients included."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from somelab.core.dispatch.frozen import can_be_frozen, dispatch_frozen
from somelab.core.dispatch.grouped import dispatch_grouped
from somelab.core.dispatch.grouped_mm import dispatch_grouped_mm
from somelab.core.dispatch.reference import dispatch_reference
from somelab.core.dispatch.weights import ExpertWeights

Dispatch = Callable[[Tensor, Tensor, Tensor, ExpertWeights], Tensor]
"""(x_TD, indices_TK, gates_TK, weights) -> answers_TD, or the mixed hidden features_TF where there is no up-projection."""


def dispatch_auto(x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, weights: ExpertWeights) -> Tensor:
    """The fastest engine for these weights on this device."""
    chosen = dispatch_frozen if can_be_frozen(weights) else dispatch_grouped
    return chosen(x_TD, indices_TK, gates_TK, weights)


ENGINES: dict[str, Dispatch] = {
    "auto": dispatch_auto,
    "reference": dispatch_reference,
    "grouped": dispatch_grouped,
    "grouped_mm": dispatch_grouped_mm,
}


def engine(name: str) -> Dispatch:
    """An engine by the name that `experts.engine` gives it."""
    return ENGINES[name]


__all__ = ["ENGINES", "Dispatch", "ExpertWeights", "engine"]
