"""Repulsion: keys that have come too close push each other apart. Not in the reports; the counterpart of
peer-pull.

Shape letters: D model width, E experts, B keys in a block."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from somelab.core.gravity.rule import Rule, scaled
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics

BLOCK = 1024  # rows of the distance table at a time: never allocate E x E for large pools


def repulsion(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k_i += rate * sum_j max(0, 1 - d_ij / d) (k_i - k_j) / d_ij, over the keys nearer than d.

    rate = `repulsion`, d = `repulsion_distance`, d_ij the distance of the two keys. Not in the reports. Sign:
    away. Identical keys have no direction of separation and stay until another rule separates them."""
    rate, reach = now.settings.repulsion, now.settings.repulsion_distance
    if not rate:
        return state
    moved: list[torch.Tensor] = []
    for keys_BD in state.keys_ED.split(BLOCK):
        distance_BE = torch.cdist(keys_BD, state.keys_ED, compute_mode="donot_use_mm_for_euclid_dist")
        push_BE = torch.where(
            distance_BE > 0, (1 - distance_BE / reach).clamp(min=0) / distance_BE.clamp(min=1e-12), 0.0
        )
        # sum_j p_ij (k_i - k_j) without a B x E x D table.
        moved.append(keys_BD + rate * (push_BE.sum(dim=1, keepdim=True) * keys_BD - push_BE @ state.keys_ED))
    return replace(state, keys_ED=torch.cat(moved))


USUAL = 0.01
"""For a run that was trained without it."""
RULE = Rule(
    repulsion,
    is_on=lambda setup: setup.gravity.repulsion > 0,
    paced=scaled("repulsion"),
    reading=lambda run, on: {"repulsion": (run.repulsion or USUAL) if on else 0.0},
    switch=True,
)
