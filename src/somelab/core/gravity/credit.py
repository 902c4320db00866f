"""Credit: a key moves towards the queries for which its expert's output reduced the loss. Not in the reports;
see lab/LOG.md.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from somelab.core.gravity.rule import Rule, scaled
from somelab.core.gravity.state import KeyState, Moment

if TYPE_CHECKING:
    from somelab.core.statistics import RoutingStatistics

ALONG = 1e-4
"""Below this share of its length, the component of the credit orthogonal to the key may be rounding error and
is ignored."""


def credit(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k_i += c s_i d_i / |d_i|, d_i the component of C_i = sum_t m_ti q_t orthogonal to k_i.

    c = `credit`, m_ti the merit of expert i for token t (`merits`). Sign: towards queries for which it did
    better than the token's other experts, away from those for which it did worse. The length of C_i does not
    count: errors shrink over a run, and later credit has to outweigh earlier credit.

    s_i = 1, or with `credit_scale` = signal the share of C_i's length that noise does not explain: s_i =
    sqrt(max(0, 1 - N_i / |C_i|^2)), N_i = sum_t m_ti^2 |q_t|^2. If merits had random signs, N_i would be the
    mean of |C_i|^2, so a key whose credit is noise stays where it is."""
    if not seen.wants_credit or not now.credit:
        return state
    keys_ED, credit_ED = state.keys_ED, seen.credit_ED
    along_E = (credit_ED * keys_ED).sum(dim=1, keepdim=True) / keys_ED.square().sum(
        dim=1, keepdim=True
    ).clamp(min=1e-20)
    aside_ED = credit_ED - along_E * keys_ED
    length_E = aside_ED.norm(dim=1, keepdim=True)
    way_ED = torch.where(length_E > ALONG * credit_ED.norm(dim=1, keepdim=True), aside_ED / length_E, 0.0)
    return replace(state, keys_ED=keys_ED + now.credit * _signal(seen) * way_ED)


def _signal(seen: RoutingStatistics) -> Tensor | float:
    """s_i of every expert, [E, 1]; 1 where the noise is not measured."""
    if not seen.wants_credit_noise:
        return 1.0
    square_E = seen.credit_ED.square().sum(dim=1).clamp(min=1e-30)
    return (1 - seen.credit_noise_E / square_E).clamp(min=0).sqrt()[:, None]


def merits(alignment_TK: Tensor, gates_TK: Tensor) -> Tensor:
    """m_tk = g_tk (a_tk - sum_j g_tj a_tj / sum_j g_tj): what an expert contributed beyond the gated mean of
    the token's selected experts.

    They add up to 0 over a token's experts, so that a single selected expert gets 0."""
    mean_T = (gates_TK * alignment_TK).sum(dim=1, keepdim=True) / gates_TK.sum(dim=1, keepdim=True).clamp(
        min=1e-20
    )
    return gates_TK * (alignment_TK - mean_T)


WHILE_READING = 0.01
"""Step of credit in test-time adaptation, independent of the annealed step of training."""
RULE = Rule(
    credit,
    reads=lambda setup: ("credit", "credit_noise") if setup.gravity.credit_scale == "signal" else ("credit",),
    is_on=lambda setup: setup.gravity.credit > 0,
    paced=scaled("credit"),
    reading=lambda run, on: {"credit": WHILE_READING if on else 0.0, "credit_final": None},
    switch=True,
)
