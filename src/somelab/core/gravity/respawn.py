"""Respawn ("phoenix"): a key of almost zero length is reset to a query of this step, and its usage and bias
to 0."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

from somelab.core.gravity.rule import Rule
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics


def respawn(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """Where |k_i| < `respawn_threshold`: k_i <- normalize(q + 0.01 noise), q a random query of this step; u,
    m, bias <- 0.

    Source: the reports (v3.5, v6, v7). Each dead key takes a different query. Without any query in the step
    it is left as it is."""
    if not now.settings.respawn:
        return state
    dead = (state.keys_ED.norm(dim=1) < now.settings.respawn_threshold).nonzero()[:, 0]
    queries_QD = seen.kept.query_QD
    if not dead.numel() or not queries_QD.shape[0]:
        return state
    taken = torch.arange(dead.numel(), device=dead.device) % queries_QD.shape[0]
    noise = torch.randn(dead.numel(), queries_QD.shape[1], generator=now.generator("respawn noise")).to(
        queries_QD
    )
    born_ED = F.normalize(queries_QD[taken] + now.settings.respawn_noise * noise, dim=1)
    return replace(
        state,
        keys_ED=state.keys_ED.index_copy(0, dead, born_ED),
        routing_keys_ED=state.routing_keys_ED.index_copy(0, dead, born_ED),
        usage_E=state.usage_E.index_fill(0, dead, 0.0),
        mass_E=state.mass_E.index_fill(0, dead, 0.0),
        load_bias_E=state.load_bias_E.index_fill(0, dead, 0.0),
        born_E=state.born_E.index_fill(0, dead, now.step),
    )


RULE = Rule(
    respawn,
    reads=("kept",),
    is_on=lambda setup: setup.gravity.respawn,
    reading=lambda run, on: {"respawn": on},
    switch=True,
)
