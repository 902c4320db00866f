"""Who acts when. A rule is a pure function (state, seen, now) -> state; a new one is a file here and a line below.

Each rule sees one snapshot of the keys: the state that the rule before it returned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.centring import centring
from somelab.core.gravity.credit import credit
from somelab.core.gravity.decay import decay
from somelab.core.gravity.load_bias import load_bias
from somelab.core.gravity.norm import norm
from somelab.core.gravity.peer_pull import peer_pull
from somelab.core.gravity.repulsion import repulsion
from somelab.core.gravity.respawn import respawn
from somelab.core.gravity.smoothing import smoothing
from somelab.core.gravity.state import KeyState, Moment, by_depth
from somelab.core.gravity.step_cap import step_cap
from somelab.core.gravity.usage import usage
from somelab.core.statistics import RoutingStatistics


@dataclass(frozen=True)
class Rule:
    """A rule and what the order must know of it."""

    act: Callable[[KeyState, RoutingStatistics, Moment], KeyState]
    moves_keys: bool = True
    """Such a rule rests where keys are fixed, trained by gradient, or frozen in this layer."""
    extra: tuple[str, ...] = ()
    """Names that the rule reads from `gravity.extra`."""


ORDER: list[Rule] = [
    Rule(usage, moves_keys=False),
    Rule(centring, moves_keys=False),
    Rule(load_bias, moves_keys=False),
    Rule(attraction),
    Rule(credit),
    Rule(peer_pull),
    Rule(repulsion),
    Rule(step_cap),
    Rule(norm),
    Rule(decay),
    Rule(respawn),
    Rule(smoothing, moves_keys=False),
]


def keys_move(now: Moment) -> bool:
    """Whether the rules may move keys in this layer."""
    return now.settings.keys == "moved" and not by_depth(now.settings.frozen_layers, now.layer, now.num_layers)


def apply_rules(state: KeyState, seen: RoutingStatistics, now: Moment, order: Sequence[Rule] | None = None) -> KeyState:
    """One step of Knowledge Gravity: every rule in its turn."""
    moving = keys_move(now)
    for rule in ORDER if order is None else order:
        if moving or not rule.moves_keys:
            state = rule.act(state, seen, now)
    return state
