"""Centring: the running mean of the raw queries, which the router subtracts where `centre_queries` is on.

Queries share a large common direction; without this, attraction follows it and all keys gather there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from somelab.core.gravity.rule import Rule
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics


def centring(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """mean <- r mean + (1-r) (sum of raw queries / tokens). The first step sets it outright.

    r = `ema_decay`. Not in the reports. Moves no key."""
    if not seen.wants_raw_queries or seen.num_tokens == 0:
        return state
    mean_D = seen.raw_query_sum_D / seen.num_tokens
    r = now.settings.ema_decay if bool(state.query_mean_D.any()) else 0.0
    return replace(state, query_mean_D=r * state.query_mean_D + (1 - r) * mean_D)


RULE = Rule(
    centring, reads=("raw_queries",), is_on=lambda setup: setup.centred, moves_keys=False, switch=True
)
