"""Dispatch: compute each token's K experts and add up their gated answers. One signature, several engines.

`reference` is the oracle: slow and obvious. The others must equal it, gradients included."""

from __future__ import annotations

from typing import Protocol, cast

import torch
from torch import Tensor

from somelab.core.dispatch.choice import choose_for
from somelab.core.dispatch.frozen import dispatch_frozen, dispatch_native
from somelab.core.dispatch.grouped import dispatch_grouped
from somelab.core.dispatch.grouped_mm import dispatch_grouped_mm
from somelab.core.dispatch.reference import dispatch_reference
from somelab.core.dispatch.weights import ExpertWeights


class Dispatch(Protocol):
    """An engine. Shape letters: O width of an answer, D, or F where there is no up-projection and experts end at their features."""

    def __call__(
        self,
        x_TD: Tensor,
        indices_TK: Tensor,
        gates_TK: Tensor,
        weights: ExpertWeights,
        answers_TKO: Tensor | None = None,
        /,
    ) -> Tensor:
        """sum_k gates_Tk expert[indices_Tk](x_T), [T, O]. `answers_TKO`: room, in the type that is computed in, where each expert's
        own answer is left too, without gradient."""
        ...


def dispatch_auto(
    x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, weights: ExpertWeights, answers_TKO: Tensor | None = None
) -> Tensor:
    """The fastest engine for these weights on this device."""
    return ENGINES[choose_for(x_TD, weights)](x_TD, indices_TK, gates_TK, weights, answers_TKO)


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
