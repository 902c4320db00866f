"""The groups in use for one token: a compiled kernel where this machine has one, else torch, run by run.

Memory bandwidth decides the speed of generating one token at a time, so both read each weight once, where it
is: a copy of the selected groups costs more than computing all of them. Shape letters: D model width, K
groups in use, N neurons per group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from somelab.core.dispatch.kernels import registered

if TYPE_CHECKING:
    from somelab.core.dispatch.kernels import GroupKernels
    from somelab.interop.huggingface.carved.feedforward import CarvedFeedForward

_loaders: list[Callable[[], object]] = []


def load_with_(loader: Callable[[], object]) -> None:
    """Load compiled kernels when a token is first generated. An installed somelab names its loader here; a
    model that brings its own code has torch alone."""
    _loaders[:] = [loader]


def compiled() -> GroupKernels | None:
    """The compiled kernel, or None."""
    if _loaders:
        _loaders.pop()()
    table = registered()
    return None if table is None else table.groups


def add_groups_(y_D: Tensor, x_D: Tensor, used_K: Tensor, block: CarvedFeedForward) -> None:
    """Add what the groups in use compute. `used_K` is sorted."""
    gate_up, down, mean = block.gate_up, block.down, block.mean_hidden
    fits = block.silu and y_D.dtype == torch.float32 == down.dtype and y_D.device.type == "cpu"
    kernel = compiled() if fits else None
    if kernel is not None:
        kernel.add_groups_(y_D, x_D, used_K, gate_up, down, mean)
        return
    for first, last in runs(used_K.tolist()):
        both = torch.mv(gate_up[first:last].flatten(0, 2), x_D).view(last - first, 2, -1)
        hidden = block.act(both[:, 0]) * both[:, 1] - mean[first:last]
        y_D.addmv_(down[first:last].flatten(0, 1).T, hidden.flatten())


def runs(sorted_numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Consecutive numbers as (first, last + 1): neighbours in memory are one product.

    >>> list(runs([0, 1, 2, 5, 7, 8]))
    [(0, 3), (5, 6), (7, 9)]
    """
    start = before = -2
    for number in sorted_numbers:
        if number != before + 1:
            if start >= 0:
                yield start, before + 1
            start = number
        before = number
    if start >= 0:
        yield start, before + 1
