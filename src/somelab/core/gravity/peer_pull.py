"""Peer-pull (beta): keys chosen by the same tokens move towards each other.

Works on the pairs that met, so its cost follows the tokens and not E x E. Unchecked, it fuses the K keys of a guild
into one point: see `pull_until_cosine` and the measure `crowding`.
Shape letters: D model width, E experts, P pairs that met."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.nn import functional as F

from somelab.core.gravity.state import KeyState, Moment
from somelab.core.statistics import RoutingStatistics


def peer_pull(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k_i += sum_j W_ij (k_j - k_i), W_ij = beta C_ij / (1 + inertia(u_i, u_j)), each row's sum capped at 1.

    inertia = min (v1-v4) or max (v5 on) of the two usages. Source: SPEC section 3. Sign: towards each other."""
    if not seen.wants_pairs or not now.beta:
        return state
    keys_ED, usage_E = state.keys_ED, state.usage_E
    first_P, second_P, count_P = seen.pairs.pairs()
    inertia = torch.minimum if now.settings.inertia == "min" else torch.maximum
    weight_P = now.beta * count_P / (1 + inertia(usage_E[first_P], usage_E[second_P]))
    if now.settings.pull_until_cosine is not None:
        unit_ED = F.normalize(keys_ED, dim=1)
        cosine_P = (unit_ED[first_P] * unit_ED[second_P]).sum(dim=1)
        weight_P = weight_P * (cosine_P <= now.settings.pull_until_cosine)
    row_E = torch.zeros_like(usage_E).index_add_(0, first_P, weight_P)
    weight_P = weight_P / row_E.clamp(min=1.0)[first_P]
    towards_PD = weight_P[:, None] * (keys_ED[second_P] - keys_ED[first_P])
    return replace(state, keys_ED=keys_ED.index_add(0, first_P, towards_PD))
