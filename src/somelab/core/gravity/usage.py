"""Usage: how often each expert is selected, as inertia for the other rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from somelab.core.gravity.rule import Rule
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from torch import Tensor

    from somelab.config import GravityConfig
    from somelab.core.statistics import RoutingStatistics


def usage(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """u <- r u + (1-r) n, and the same for gate mass with m. Cumulative (v1): u <- u + n.

    r = `ema_decay`. Source: the reports. Sign: grows with use."""
    return replace(
        state,
        usage_E=averaged(state.usage_E, seen.count_E, now.settings),
        mass_E=averaged(state.mass_E, seen.mass_E, now.settings),
    )


def averaged(before_E: Tensor, step_E: Tensor, settings: GravityConfig) -> Tensor:
    """The moving average, or the sum, after a step."""
    if settings.usage == "cumulative":
        return before_E + step_E
    r = settings.ema_decay
    return r * before_E + (1 - r) * step_E


RULE = Rule(
    usage,
    moves_keys=False,
    reading=lambda run, on: {"usage": "ema"},
    # An average over the same amount of text.
    paced=lambda gravity, pace: {"ema_decay": gravity.ema_decay**pace},
)
