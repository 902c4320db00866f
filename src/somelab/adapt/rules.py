"""The rules that only reading needs, beside the core's: trust region and reversion tie a key to its place in the checkpoint,
and a last bound holds whatever comes. Pure functions; `order_for` says where they stand among the others.

Shape letters: D model width, E experts."""

from __future__ import annotations

from dataclasses import fields, replace

import torch
from torch import Tensor

from somelab.adapt.settings import AdaptationSettings
from somelab.core.gravity import ORDER, KeyState, Moment, Rule
from somelab.core.statistics import RoutingStatistics


def trust_region(keys_ED: Tensor, home_ED: Tensor, radius: float) -> Tensor:
    """k <- k_0 + d min(1, rho / |d|), d = k - k_0: no key is further than rho from its checkpoint place k_0.

    Sign: towards home. Between two points no longer than 1, so it never lengthens a key beyond both."""
    away_ED = keys_ED - home_ED
    distance_E1 = away_ED.norm(dim=1, keepdim=True)
    return torch.where(distance_E1 > radius, home_ED + away_ED * (radius / distance_E1.clamp(min=1e-12)), keys_ED)


def reversion(keys_ED: Tensor, home_ED: Tensor, share: float) -> Tensor:
    """k <- k + lambda (k_0 - k): the pull of the checkpoint place, at every update. Sign: towards home."""
    return keys_ED + share * (home_ED - keys_ED)


def bound(keys_ED: Tensor, longest: float) -> Tensor:
    """k <- k min(1, b / |k|): no key is longer than b, whatever text and rules come."""
    length_E1 = keys_ED.norm(dim=1, keepdim=True)
    return torch.where(length_E1 > longest, keys_ED * (longest / length_E1.clamp(min=1e-12)), keys_ED)


def order_for(settings: AdaptationSettings, home: KeyState) -> list[Rule]:
    """The core's order, with reversion before the norm, and the two bounds behind rebirth: they hold for newborns too."""
    longest = max(1.0, float(home.keys_ED.norm(dim=1).max()))

    def revert(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
        return reverted(state, home, settings.reversion) if settings.reversion else state

    def hold(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
        held = {"keys_ED": state.keys_ED, "routing_keys_ED": state.routing_keys_ED}  # averages too: rebirth moves them as well
        if settings.trust_region is not None:
            held = {name: trust_region(keys_ED, getattr(home, name), settings.trust_region) for name, keys_ED in held.items()}
        return replace(state, **{name: bound(keys_ED, longest) for name, keys_ED in held.items()})

    order: list[Rule] = []
    for rule in ORDER:
        if rule.act.__name__ == "norm":
            order.append(Rule(revert))
        order.append(rule)
        if rule.act.__name__ == "respawn":
            order.append(Rule(hold))
    assert len(order) == len(ORDER) + 2, "the order has no norm or no respawn any more"
    return order


def reverted(state: KeyState, home: KeyState, share: float) -> KeyState:
    """A share of the way home for all that routing reads. Usage is a count of what happened, and stays."""
    names = ("keys_ED", "routing_keys_ED", "load_bias_E", "query_mean_D")
    return replace(state, **{name: reversion(getattr(state, name), getattr(home, name), share) for name in names})


def is_finite(state: KeyState) -> bool:
    """Whether every number of a state is one."""
    return all(bool(getattr(state, field.name).isfinite().all()) for field in fields(state))
