"""The rules of test-time adaptation beside the core's: trust region and reversion tie a key to its checkpoint
value, and a last bound limits its length. Pure functions; `order_for` gives their order.

Shape letters: D model width, E experts."""

from __future__ import annotations

from dataclasses import fields, replace

import torch
from torch import Tensor

from somelab.adapt.settings import AdaptationSettings
from somelab.core.gravity import ORDER, KeyState, Moment, Rule
from somelab.core.statistics import RoutingStatistics


def trust_region(keys_ED: Tensor, home_ED: Tensor, radius: float) -> Tensor:
    """k <- k_0 + d min(1, rho / |d|), d = k - k_0: no key is further than rho from its checkpoint value k_0.

    Sign: towards k_0. The result lies between k and k_0, so it is not longer than both."""
    away_ED = keys_ED - home_ED
    distance_E1 = away_ED.norm(dim=1, keepdim=True)
    return torch.where(
        distance_E1 > radius, home_ED + away_ED * (radius / distance_E1.clamp(min=1e-12)), keys_ED
    )


def reversion(keys_ED: Tensor, home_ED: Tensor, share: float) -> Tensor:
    """k <- k + lambda (k_0 - k): a pull to the checkpoint value, at every update. Sign: towards k_0."""
    return keys_ED + share * (home_ED - keys_ED)


def bound(keys_ED: Tensor, longest: float) -> Tensor:
    """k <- k min(1, b / |k|): no key is longer than b."""
    length_E1 = keys_ED.norm(dim=1, keepdim=True)
    return torch.where(length_E1 > longest, keys_ED * (longest / length_E1.clamp(min=1e-12)), keys_ED)


def order_for(settings: AdaptationSettings, home: KeyState) -> list[Rule]:
    """The core's order, with reversion before the norm, and the two bounds after respawn, so that they hold
    for respawned keys too."""
    longest = max(1.0, float(home.keys_ED.norm(dim=1).max()))

    def revert(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
        return reverted(state, home, settings.reversion) if settings.reversion else state

    def hold(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
        # Averages too: respawn moves them as well.
        held = {"keys_ED": state.keys_ED, "routing_keys_ED": state.routing_keys_ED}
        if settings.trust_region is not None:
            held = {
                name: trust_region(keys_ED, getattr(home, name), settings.trust_region)
                for name, keys_ED in held.items()
            }
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
    """Move everything that routing uses a share of the way to the checkpoint. Usage is unchanged."""
    names = ("keys_ED", "routing_keys_ED", "load_bias_E", "query_mean_D")
    return replace(
        state, **{name: reversion(getattr(state, name), getattr(home, name), share) for name in names}
    )


def is_finite(state: KeyState) -> bool:
    """Whether every number of a state is finite."""
    return all(bool(getattr(state, field.name).isfinite().all()) for field in fields(state))
