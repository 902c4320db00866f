"""Step cap: a limit on how far the rules may move a key in one step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from somelab.core.gravity.rule import Rule
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics


def step_cap(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k <- k_0 + d min(1, c / |d|), d = k - k_0, k_0 the key at the start of the step.

    c = `max_step`. Source: report 004 ("clip delta k"). Acts before the norm, so that a norm policy still
    holds."""
    if now.settings.max_step is None:
        return state
    moved_ED = state.keys_ED - now.keys_before_ED
    length_E = moved_ED.norm(dim=1, keepdim=True)
    scale_E = (now.settings.max_step / length_E.clamp(min=1e-12)).clamp(max=1.0)
    return replace(state, keys_ED=now.keys_before_ED + moved_ED * scale_E)


RULE = Rule(step_cap, is_on=lambda setup: setup.gravity.max_step is not None)
