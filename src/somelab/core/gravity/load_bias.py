"""Load bias: a gradient-free offset on the scores that select, so that neglected experts are met again."""

from __future__ import annotations

from dataclasses import replace

from somelab.core.gravity.state import KeyState, Moment
from somelab.core.statistics import RoutingStatistics


def load_bias(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """b_i <- b_i + rate * sign(mean(n) - n_i).

    rate = `load_bias`. Source: SPEC section 8. Sign: up for experts chosen less than the mean, down for the others;
    it shifts which experts are selected, never how much they say."""
    if not now.settings.load_bias:
        return state
    lack_E = (seen.count_E.mean() - seen.count_E).sign()
    return replace(state, load_bias_E=state.load_bias_E + now.settings.load_bias * lack_E)
