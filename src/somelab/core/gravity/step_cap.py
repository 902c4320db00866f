"""Step cap: a limit on how far the pulling rules may carry a key in one step."""

from __future__ import annotations

from dataclasses import replace

from somelab.core.gravity.state import KeyState, Moment
from somelab.core.statistics import RoutingStatistics


def step_cap(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k <- k_0 + d min(1, c / |d|), d = k - k_0, k_0 the key at the start of the step.

    c = `max_step`. Source: seed 004 ("clip delta k"). Acts before the norm, so that a norm policy still holds."""
    if now.settings.max_step is None:
        return state
    moved_ED = state.keys_ED - now.keys_before_ED
    length_E = moved_ED.norm(dim=1, keepdim=True)
    scale_E = (now.settings.max_step / length_E.clamp(min=1e-12)).clamp(max=1.0)
    return replace(state, keys_ED=now.keys_before_ED + moved_ED * scale_E)
