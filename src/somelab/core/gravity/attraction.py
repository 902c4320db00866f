"""Attraction (alpha): a key moves towards the queries that selected it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from somelab.core.gravity.rule import Rule, scaled
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics


def attraction(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k_i += a_i (S_i / n_i - k_i), a_i = min(1, alpha n_i / (1 + u_i)).

    Source: the reports. Sign: towards the mean query. The cap keeps early steps stable: u starts near 0, and
    a_i would reach alpha / (1 - r). `attraction_by` decides what n and S count (all K, the winner, or gates);
    `alpha_floor` is the least a_i of a selected key."""
    settings = now.settings
    if not seen.wants_queries:
        return state
    weight_E, keys_ED = seen.pull_weight_E, state.keys_ED
    rate_E = settings.alpha * weight_E / (1 + state.usage_E)
    rate_E = rate_E.clamp(min=settings.alpha_floor, max=1.0) * (weight_E > 0)
    mean_ED = seen.pull_sum_ED / weight_E.clamp(min=1e-20)[:, None]
    return replace(state, keys_ED=keys_ED + rate_E[:, None] * (mean_ED - keys_ED))


RULE = Rule(
    attraction,
    reads=("queries",),
    is_on=lambda setup: setup.gravity.attraction and max(setup.gravity.alpha, setup.gravity.alpha_floor) > 0,
    paced=scaled("alpha"),
    reading=lambda run, on: {"attraction": on},
    switch=True,
)
