"""Peer-pull (beta): keys selected by the same tokens move towards each other.

Small pools work on the E x E table of pairs, large ones on the list of pairs that occurred, so that their
cost depends on the tokens. Unlimited, the rule fuses the K keys of a guild into one point: see
`pull_until_cosine` and the measure `crowding`. Shape letters: D model width, E experts, P pairs that
occurred."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from somelab.core.gravity.rule import Rule, scaled
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics


def peer_pull(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k_i += sum_j W_ij (k_j - k_i), W_ij = beta C_ij / (1 + inertia(u_i, u_j)), each row's sum capped at 1.

    inertia = min (v1-v4) or max (v5 on) of the two usages. Source: the reports. Sign: towards each other."""
    if not seen.wants_pairs or not now.beta:
        return state
    pulled = _by_list if seen.pairs.sparse else _by_table
    return replace(state, keys_ED=pulled(state, seen, now))


def _by_table(state: KeyState, seen: RoutingStatistics, now: Moment) -> Tensor:
    keys_ED, usage_E = state.keys_ED, state.usage_E
    weight_EE = now.beta * seen.pairs.count / (1 + _inertia(now)(usage_E[:, None], usage_E[None, :]))
    if now.settings.pull_until_cosine is not None:
        unit_ED = F.normalize(keys_ED, dim=1)
        weight_EE = weight_EE * (unit_ED @ unit_ED.T <= now.settings.pull_until_cosine)
    row_E1 = weight_EE.sum(dim=1, keepdim=True)
    scale_E1 = 1 / row_E1.clamp(min=1.0)
    return keys_ED + scale_E1 * (weight_EE @ keys_ED - row_E1 * keys_ED)


def _by_list(state: KeyState, seen: RoutingStatistics, now: Moment) -> Tensor:
    keys_ED, usage_E = state.keys_ED, state.usage_E
    first_P, second_P, count_P = seen.pairs.pairs()
    weight_P = now.beta * count_P / (1 + _inertia(now)(usage_E[first_P], usage_E[second_P]))
    if now.settings.pull_until_cosine is not None:
        unit_ED = F.normalize(keys_ED, dim=1)
        cosine_P = (unit_ED[first_P] * unit_ED[second_P]).sum(dim=1)
        weight_P = weight_P * (cosine_P <= now.settings.pull_until_cosine)
    row_E = torch.zeros_like(usage_E).index_add_(0, first_P, weight_P)
    weight_P = weight_P / row_E.clamp(min=1.0)[first_P]
    towards_PD = weight_P[:, None] * (keys_ED[second_P] - keys_ED[first_P])
    return keys_ED.index_add(0, first_P, towards_PD)


def _inertia(now: Moment) -> Callable[[Tensor, Tensor], Tensor]:
    return torch.minimum if now.settings.inertia == "min" else torch.maximum


RULE = Rule(
    peer_pull,
    reads=("pairs",),
    is_on=lambda setup: (
        setup.gravity.peer_pull and max(setup.gravity.beta, setup.gravity.beta_final or 0.0) > 0
    ),
    paced=scaled("beta"),
    reading=lambda run, on: {
        "peer_pull": on,
        "beta": run.beta if run.beta_final is None else run.beta_final,
        "beta_final": None,
    },
    switch=True,
)
