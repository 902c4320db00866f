"""How many groups each layer uses, under one budget for the whole model: layers differ a lot in what skipping
costs. Greedy: the group whose loss harms least is given up next, wherever it is.

Shape letters: L layers, T tokens, E groups."""

from __future__ import annotations

import heapq

from torch import Tensor

LEAST = 1 / 8
"""Share of its groups that a layer keeps at least, so that a wrong estimate cannot remove a block."""


def harm_curve(importance_TE: Tensor, score_TE: Tensor, residual_T: Tensor) -> list[float]:
    """The estimated harm of using k groups, for k = 0 to E: the mean squared length of what is skipped,
    relative to that of the residual stream it is missing from. The groups' outputs count as orthogonal."""
    order_TE = score_TE.argsort(dim=1)  # the lowest score is skipped first
    skipped_TE = importance_TE.square().gather(1, order_TE).cumsum(dim=1)
    harm_E = (skipped_TE / residual_T[:, None]).mean(dim=0)
    return [*reversed([0.0, *harm_E.tolist()])]


def allocate(curves_LE: list[list[float]], share: float) -> list[int]:
    """Groups for each layer, such that all layers together use this share of them."""
    num_groups = len(curves_LE[0]) - 1
    least = max(1, round(LEAST * num_groups))
    used_L = [num_groups] * len(curves_LE)
    to_remove = sum(used_L) - max(round(share * sum(used_L)), least * len(used_L))
    heap = [(curve[num_groups - 1] - curve[num_groups], layer) for layer, curve in enumerate(curves_LE)]
    heapq.heapify(heap)
    for _ in range(to_remove):
        _, layer = heapq.heappop(heap)
        used_L[layer] -= 1
        k, curve = used_L[layer], curves_LE[layer]
        if k > least:
            heapq.heappush(heap, (curve[k - 1] - curve[k], layer))
    return used_L
