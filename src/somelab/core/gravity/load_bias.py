"""Load bias: a gradient-free offset on the selection scores, so that rarely used experts are selected
again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from somelab.core.gravity.rule import Rule, scaled
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics


def load_bias(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """b_i <- b_i + rate * sign(mean(n) - n_i).

    rate = `load_bias`. Not in the reports. Sign: up for experts selected less than the mean, down for the
    others. It shifts the selection, never the gates."""
    if not now.settings.load_bias:
        return state
    lack_E = (seen.count_E.mean() - seen.count_E).sign()
    return replace(state, load_bias_E=state.load_bias_E + now.settings.load_bias * lack_E)


USUAL = 0.001
"""For a run that was trained without it."""
RULE = Rule(
    load_bias,
    is_on=lambda setup: setup.gravity.load_bias > 0,
    moves_keys=False,
    paced=scaled("load_bias"),
    reading=lambda run, on: {"load_bias": (run.load_bias or USUAL) if on else 0.0},
    switch=True,
)
