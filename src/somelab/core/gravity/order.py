"""The order in which the rules act. A rule is one file here, which ends with its declaration, and one line
below.

Each rule receives the state that the rule before it returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from somelab.core.gravity import (
    attraction,
    centring,
    credit,
    decay,
    load_bias,
    norm,
    peer_pull,
    repulsion,
    respawn,
    smoothing,
    step_cap,
    usage,
)
from somelab.core.gravity.rule import Rule
from somelab.core.gravity.state import KeyState, Moment, by_depth

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics

ORDER: list[Rule] = [
    usage.RULE,
    centring.RULE,
    load_bias.RULE,
    attraction.RULE,
    credit.RULE,
    peer_pull.RULE,
    repulsion.RULE,
    step_cap.RULE,
    norm.RULE,
    decay.RULE,
    respawn.RULE,
    smoothing.RULE,
]


def keys_move(now: Moment) -> bool:
    """Whether the rules may move keys in this layer."""
    return now.settings.keys == "moved" and not by_depth(
        now.settings.frozen_layers, now.layer, now.num_layers
    )


def apply_rules(
    state: KeyState, seen: RoutingStatistics, now: Moment, order: Sequence[Rule] | None = None
) -> KeyState:
    """One step of Knowledge Gravity: every rule in order."""
    moving = keys_move(now)
    for rule in ORDER if order is None else order:
        if moving or not rule.moves_keys:
            state = rule.act(state, seen, now)
    return state
