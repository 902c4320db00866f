"""Usage: how often each expert is selected, as inertia for the other rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from somelab.core.gravity.rule import Rule
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics


def usage(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """u <- r u + (1-r) n, and the same for gate mass with m. Cumulative (v1): u <- u + n.

    r = `ema_decay`. Source: the reports. Sign: grows with use."""
    if now.settings.usage == "cumulative":
        return replace(state, usage_E=state.usage_E + seen.count_E, mass_E=state.mass_E + seen.mass_E)
    r = now.settings.ema_decay
    return replace(
        state,
        usage_E=r * state.usage_E + (1 - r) * seen.count_E,
        mass_E=r * state.mass_E + (1 - r) * seen.mass_E,
    )


RULE = Rule(
    usage,
    moves_keys=False,
    reading=lambda run, on: {"usage": "ema"},
    # An average over the same amount of text.
    paced=lambda gravity, pace: {"ema_decay": gravity.ema_decay**pace},
)
