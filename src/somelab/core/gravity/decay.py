"""Decay (delta): keys of too little use shrink, score lower and are chosen less still."""

from __future__ import annotations

from dataclasses import replace

import torch

from somelab.core.gravity.state import KeyState, Moment
from somelab.core.statistics import RoutingStatistics


def decay(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k_i <- (1 - delta) k_i where u_i < theta, after `warmup_steps`.

    theta: an absolute usage, or the `theta_percentile` quantile of the non-zero usages. Source: SPEC section 3.
    Sign: towards the origin."""
    if not now.settings.decay or now.step < now.settings.warmup_steps:
        return state
    weak_E = state.usage_E < threshold(state.usage_E, now)
    factor_E = torch.where(weak_E, 1 - now.settings.delta, 1.0)
    return replace(state, keys_ED=state.keys_ED * factor_E[:, None])


def threshold(usage_E: torch.Tensor, now: Moment) -> torch.Tensor | float:
    """theta. A pool without any use has no weak members: the quantile of nothing is 0."""
    if now.settings.theta is not None:
        return now.settings.theta
    assert now.settings.theta_percentile is not None
    used = usage_E[usage_E > 0]
    return torch.quantile(used, now.settings.theta_percentile) if used.numel() else 0.0
