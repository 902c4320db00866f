"""Which experts are selected together: pair counts, their expectation by chance at equal usage, and the
significant pairs.

Shape letters: N tokens, K experts per token, E experts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDS = 200
"""Iterations of the fit; an expert that every token selects needs most of them."""


def pair_counts(experts_NK: NDArray[Any], num_experts: int) -> NDArray[np.float64]:
    """C_ij: tokens that selected both i and j; C_ii: tokens that selected i."""
    count_EE = np.zeros((num_experts, num_experts))
    top_k = experts_NK.shape[1]
    for first in range(top_k):
        for second in range(top_k):
            codes = experts_NK[:, first].astype(np.int64) * num_experts + experts_NK[:, second]
            count_EE += np.bincount(codes, minlength=num_experts**2).reshape(num_experts, num_experts)
    # Each slot paired with itself is the diagonal; two slots of a token never hold the same expert.
    return count_EE


def expected_counts(count_EE: NDArray[np.float64]) -> NDArray[np.float64]:
    """The expectation of C if experts kept their usage but were selected independently:
    e_ij = a_i a_j for i != j, with

        sum_j e_ij = sum_j C_ij   for every i (over j != i)
    The diagonal is excluded: otherwise an expert that every token selects would seem to
    co-occur with all others."""
    met_E = count_EE.sum(axis=1) - np.diag(count_EE)
    weight_E = met_E / math.sqrt(max(met_E.sum(), 1.0))
    for _ in range(ROUNDS):
        now_E = weight_E * (weight_E.sum() - weight_E)
        weight_E = weight_E * np.sqrt(np.divide(met_E, now_E, out=np.zeros_like(met_E), where=now_E > 0))
    expected_EE = np.outer(weight_E, weight_E)
    np.fill_diagonal(expected_EE, 0.0)
    return expected_EE


def companions(count_EE: NDArray[np.float64]) -> NDArray[np.float64]:
    """The graph of experts selected together more often than by chance: w_ij = ln(C_ij / e_ij) where
    significant, else 0.

    Significant: (C_ij - e_ij) / sqrt(max(e_ij, 1)) > 2 sqrt(ln P), P pairs. The largest of P normal draws is
    about sqrt(2 ln P); the factor sqrt 2 above it is for the heavier tail of counts. Independent experts give
    a graph without edges."""
    num_experts = count_EE.shape[0]
    expected_EE = expected_counts(count_EE)
    excess_EE = (count_EE - expected_EE) / np.sqrt(np.maximum(expected_EE, 1.0))
    num_pairs = max(2, num_experts * (num_experts - 1) // 2)
    stands_out = excess_EE > 2 * math.sqrt(math.log(num_pairs))
    np.fill_diagonal(stands_out, False)
    lift_EE = np.divide(count_EE, expected_EE, out=np.ones_like(count_EE), where=expected_EE > 0)
    return np.where(stands_out, np.log(np.maximum(lift_EE, 1e-12)), 0.0)


def similarity(count_EE: NDArray[np.float64]) -> NDArray[np.float64]:
    """C_ij / sqrt(C_ii C_jj): 1 if two experts are always selected together."""
    used_E = np.sqrt(np.maximum(np.diag(count_EE), 1.0))
    return count_EE / np.outer(used_E, used_E)
