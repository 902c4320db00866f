"""Credit: a key moves towards the queries that its expert served well. Not in the seeds; lab/LOG.md has how it was found.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from somelab.core.gravity.state import KeyState, Moment
from somelab.core.statistics import RoutingStatistics

ALONG = 1e-4
"""Credit that points along its key but for so small a part has no direction to go: the rest may be rounding."""


def credit(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k_i += c d_i / |d_i|, d_i the part of C_i = sum_t m_ti q_t that is square to k_i.

    c = `credit`, m_ti the merit of expert i for token t (`merits`). Sign: towards queries that it served better than the others
    that answered, away from those that it served worse. How far does not depend on how much: errors shrink over a run, and
    what is learned of a key's place has to outweigh what was."""
    if not seen.wants_credit or not now.credit:
        return state
    keys_ED, credit_ED = state.keys_ED, seen.credit_ED
    along_E = (credit_ED * keys_ED).sum(dim=1, keepdim=True) / keys_ED.square().sum(dim=1, keepdim=True).clamp(min=1e-20)
    aside_ED = credit_ED - along_E * keys_ED
    length_E = aside_ED.norm(dim=1, keepdim=True)
    way_ED = torch.where(length_E > ALONG * credit_ED.norm(dim=1, keepdim=True), aside_ED / length_E, 0.0)
    return replace(state, keys_ED=keys_ED + now.credit * way_ED)


def merits(helpfulness_TK: Tensor, gates_TK: Tensor) -> Tensor:
    """m_tk = g_tk (a_tk - sum_j g_tj a_tj / sum_j g_tj): what an expert did for a token beyond the mean of those that answered.

    They add up to 0 for a token: who answers alone earns nothing."""
    mean_T = (gates_TK * helpfulness_TK).sum(dim=1, keepdim=True) / gates_TK.sum(dim=1, keepdim=True).clamp(min=1e-20)
    return gates_TK * (helpfulness_TK - mean_T)
