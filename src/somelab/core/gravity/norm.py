"""Norm: the length of keys after they moved. The published versions differ here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F

from somelab.core.gravity.rule import Rule
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics


def norm(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """unit: k <- k/|k| for all · unit_used: for keys selected in this step · clamp: where |k| > 1 · none: as
    they are.

    Source: the reports. Under `unit` the next step undoes any decay (the "immortal expert")."""
    policy, keys_ED = now.settings.norm, state.keys_ED
    if policy == "none":
        return state
    if policy == "unit":
        return replace(state, keys_ED=F.normalize(keys_ED, dim=1))
    length_E = keys_ED.norm(dim=1)
    chosen_E = seen.count_E > 0 if policy == "unit_used" else length_E > 1
    return replace(state, keys_ED=torch.where(chosen_E[:, None], F.normalize(keys_ED, dim=1), keys_ED))


RULE = Rule(norm)
