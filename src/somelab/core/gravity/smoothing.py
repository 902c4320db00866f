"""Smoothing: tokens may be routed by a moving average of the keys instead of the keys themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from somelab.core.gravity.rule import Rule
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics


def smoothing(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """routing key <- r routing key + (1-r) k, r = `key_ema`; with r = 0 it is the key.

    Source: report 004 ("a small EMA over keys"). Moves no key."""
    r = now.settings.key_ema
    averaged_ED = r * state.routing_keys_ED + (1 - r) * state.keys_ED if r else state.keys_ED
    return replace(state, routing_keys_ED=averaged_ED)


RULE = Rule(smoothing, moves_keys=False)
