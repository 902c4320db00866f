"""Decay (delta): keys of rarely used experts shrink, so that they score lower and are selected even less."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from somelab.core.gravity.rule import Rule
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics


def decay(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k_i <- (1 - delta) k_i where u_i < theta, after `warmup_steps`.

    theta: an absolute usage, or the `theta_percentile` quantile of the non-zero usages. Source: the reports.
    Sign: towards the origin."""
    if not now.settings.decay or now.step < now.settings.warmup_steps:
        return state
    weak_E = state.usage_E < threshold(state.usage_E, now)
    factor_E = torch.where(weak_E, 1 - now.settings.delta, 1.0)
    return replace(state, keys_ED=state.keys_ED * factor_E[:, None])


def threshold(usage_E: torch.Tensor, now: Moment) -> torch.Tensor | float:
    """theta. 0 for a pool without any usage."""
    if now.settings.theta is not None:
        return now.settings.theta
    assert now.settings.theta_percentile is not None
    used = usage_E[usage_E > 0]
    return torch.quantile(used, now.settings.theta_percentile) if used.numel() else 0.0


USUAL_PERCENTILE = 0.05
"""For a run with an absolute threshold, which counts training steps and has no meaning in test-time
adaptation."""
RULE = Rule(
    decay,
    is_on=lambda setup: setup.gravity.decay,
    paced=lambda gravity, pace: {"delta": min(1.0, gravity.delta * pace)},
    reading=lambda run, on: {
        "decay": on,
        "theta": None,
        "theta_percentile": USUAL_PERCENTILE if run.theta_percentile is None else run.theta_percentile,
        "warmup_steps": 0,
    },
    switch=True,
)
