"""Which keys are nearest to a query, exactly: compared one by one (flat), or as pairs of sub-keys (product).

Neither needs a table of T x E in memory for a large pool. Product keys: the query has two halves, and there
are S = sqrt(E) sub-keys for each. The key of expert (i, j), number i S + j, is the pair (a_i, b_j); its score
is the sum of both halves' scores. The K best pairs are among the K best a_i and the K best b_j, so that 2 S
comparisons per token find them: Lample et al. 2019, arXiv 1907.05242; PEER, arXiv 2407.04153.
Shape letters: T tokens, D width of a key, H half of it, E experts, S sub-keys of a half, K experts per
token."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from somelab.core.rows import best_of_rows

WHOLE_UP_TO = 16384
"""Experts up to which a flat search makes the table of T x E scores; above, it goes through the keys in
blocks."""
BLOCK_SCORES = 1 << 24  # scores in memory at a time


class SubKeys(NamedTuple):
    """The keys of a product: one matrix per half of the query."""

    first_SH: Tensor
    second_SH: Tensor


class Found(NamedTuple):
    """The selected experts, in descending order of the selection score, and their scores."""

    indices_TK: Tensor
    scores_TK: Tensor
    """Without the bias of the selection, with gradient."""
    tables: tuple[tuple[Tensor, Tensor], ...]
    """All scores that were compared, with gradient, and which of them were selected: one pair, or one per
    half. Empty unless asked for, or if the pool is too large for it."""


def search(
    query_TD: Tensor, keys: Tensor | SubKeys, bias: Tensor, num_active: int, *, tables: bool = False
) -> Found:
    """The `num_active` experts with the highest <query, key> + bias. `bias`: per expert, or per sub-key, the
    first half's first. `tables`: whether all scores are needed."""
    if isinstance(keys, SubKeys):
        return _product(query_TD, keys, bias, num_active, tables=tables)
    if len(keys) > WHOLE_UP_TO:
        return _in_blocks(query_TD, keys, bias, num_active)
    if tables or keys.requires_grad:
        scores_TE = query_TD @ keys.T
        _, indices_TK = best_of_rows(scores_TE, bias, num_active)
        return Found(indices_TK, scores_TE.gather(1, indices_TK), ((scores_TE, indices_TK),))
    with torch.no_grad():
        scores_TE = query_TD @ keys.T
    _, indices_TK = best_of_rows(scores_TE, bias, num_active)
    return Found(indices_TK, _SelectedScores.apply(query_TD, keys, scores_TE, indices_TK), ())


def halves_of(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """The two halves of queries (or means of queries), along the last dimension."""
    # Not two slices: the gradient of each would be a whole tensor, mostly zeros.
    first, second = vectors.unflatten(-1, (2, -1)).unbind(-2)
    return first, second


def _product(query_TD: Tensor, keys: SubKeys, bias_2S: Tensor, num_active: int, *, tables: bool) -> Found:
    num_sub_keys = len(keys.first_SH)
    halves, biases = halves_of(query_TD), bias_2S.split(num_sub_keys)
    if tables:
        scores = [half_TH @ keys_SH.T for half_TH, keys_SH in zip(halves, keys, strict=True)]
    else:
        with torch.no_grad():
            scores = [half_TH @ keys_SH.T for half_TH, keys_SH in zip(halves, keys, strict=True)]
    with torch.no_grad():
        (first_TK, row_TK), (second_TK, column_TK) = (
            best_of_rows(score_TS, bias_S, min(num_active, num_sub_keys))
            for score_TS, bias_S in zip(scores, biases, strict=True)
        )
        sum_TKK = first_TK[:, :, None] + second_TK[:, None, :]
        _, place_TK = best_of_rows(sum_TKK.flatten(1), None, num_active)
        width = sum_TKK.shape[2]
        row_TK, column_TK = row_TK.gather(1, place_TK // width), column_TK.gather(1, place_TK % width)
    chosen = [
        score_TS.gather(1, sub_TK) if tables else _SelectedScores.apply(half_TH, keys_SH, score_TS, sub_TK)
        for score_TS, half_TH, keys_SH, sub_TK in zip(scores, halves, keys, (row_TK, column_TK), strict=True)
    ]
    compared = ((scores[0], row_TK), (scores[1], column_TK)) if tables else ()
    return Found(row_TK * num_sub_keys + column_TK, chosen[0] + chosen[1], compared)


def _in_blocks(query_TD: Tensor, keys_ED: Tensor, bias_E: Tensor, num_active: int) -> Found:
    """The flat search without a table of T x E: the best of each block, merged."""
    size = max(num_active, BLOCK_SCORES // max(1, len(query_TD)))
    with torch.no_grad():
        values, found, plain = [], [], []
        for first in range(0, len(keys_ED), size):
            score_TB = query_TD @ keys_ED[first : first + size].T
            best_TK, at_TK = best_of_rows(
                score_TB, bias_E[first : first + size], min(num_active, score_TB.shape[1])
            )
            values.append(best_TK)
            found.append(at_TK + first)
            plain.append(score_TB.gather(1, at_TK))
        _, place_TK = best_of_rows(torch.cat(values, dim=1), None, num_active)
        indices_TK = torch.cat(found, dim=1).gather(1, place_TK)
        score_TK = torch.cat(plain, dim=1).gather(1, place_TK)
    each_TK = torch.arange(num_active, device=place_TK.device).expand_as(indices_TK)
    return Found(indices_TK, _SelectedScores.apply(query_TD, keys_ED, score_TK, indices_TK, each_TK), ())


class _SelectedScores(torch.autograd.Function):
    """scores[t, places[t, k]], which are <query_t, key of indices[t, k]>. Backward reads the K selected keys
    only: the gradient of a table of scores would cost as much as the search."""

    @staticmethod
    def forward(
        ctx: Any,
        query_TD: Tensor,
        keys_ED: Tensor,
        scores: Tensor,
        indices_TK: Tensor,
        places_TK: Tensor | None = None,
    ) -> Tensor:
        # Keys that are moved before backward are detected, since they are saved.
        ctx.save_for_backward(query_TD, keys_ED, indices_TK)
        return scores.gather(1, indices_TK if places_TK is None else places_TK)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient_TK,) = gradients
        query_TD, keys_ED, indices_TK = ctx.saved_tensors
        for_query = for_keys = None
        if ctx.needs_input_grad[0]:
            weight_TK = gradient_TK.contiguous()
            for_query = F.embedding_bag(indices_TK, keys_ED, mode="sum", per_sample_weights=weight_TK)
        if ctx.needs_input_grad[1]:
            for_keys = torch.zeros_like(keys_ED)
            for slot in range(indices_TK.shape[1]):
                for_keys.index_add_(0, indices_TK[:, slot], query_TD * gradient_TK[:, slot, None])
        return for_query, for_keys, None, None, None
