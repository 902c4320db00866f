"""The search for the nearest keys: exact for pairs of sub-keys and in blocks, with the gradients of a plain
matrix product.

Shape letters: T tokens, D width of a key, E experts, S sub-keys of a half, K experts per token."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from somelab.core import search as module
from somelab.core.search import SubKeys, search
from tests.core.builders import random


def sub_keys_of(num_sub_keys: int, width: int, seed: int) -> SubKeys:
    first, second = torch.randn(2, num_sub_keys, width // 2, generator=random(seed)).unbind(0)
    return SubKeys(first, second)


def all_scores(query_TD: Tensor, keys: SubKeys, bias_2S: Tensor) -> Tensor:
    """[T, E] the score of every pair, with bias, made one by one as the search adds them."""
    half = query_TD.shape[1] // 2
    first_TS = query_TD[:, :half] @ keys.first_SH.T + bias_2S[: len(keys.first_SH)]
    second_TS = query_TD[:, half:] @ keys.second_SH.T + bias_2S[len(keys.first_SH) :]
    return (first_TS[:, :, None] + second_TS[:, None, :]).flatten(1)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_nearest_pairs_are_those_of_a_search_over_all_pairs(data: st.DataObject) -> None:
    num_sub_keys, width = data.draw(st.integers(1, 9)), 2 * data.draw(st.integers(1, 4))
    top_k = data.draw(st.integers(1, num_sub_keys**2))
    seed, is_coarse = data.draw(st.integers(0, 10**6)), data.draw(st.booleans())
    keys = sub_keys_of(num_sub_keys, width, seed)
    bias_2S = 0.3 * torch.randn(2 * num_sub_keys, generator=random(seed + 1))
    query_TD = torch.randn(7, width, generator=random(seed + 2))
    if is_coarse:  # small whole numbers: many equal scores
        keys, bias_2S, query_TD = SubKeys(*(key.round() for key in keys)), bias_2S.round(), query_TD.round()
    found = search(query_TD, keys, bias_2S, top_k)
    scores_TE = all_scores(query_TD, keys, bias_2S)
    assert torch.equal(scores_TE.gather(1, found.indices_TK), scores_TE.topk(top_k, dim=1).values)
    assert all(len(set(row)) == top_k for row in found.indices_TK.tolist()), "an expert is selected once"
    plain_TE = all_scores(query_TD, keys, torch.zeros_like(bias_2S))
    assert torch.equal(found.scores_TK, plain_TE.gather(1, found.indices_TK)), "gates know no bias"


@pytest.mark.parametrize("tables", [False, True])
def test_gradients_of_pairs_are_those_of_the_full_table(tables: bool) -> None:
    keys = SubKeys(*(key.requires_grad_() for key in sub_keys_of(5, 6, 0)))
    query_TD = torch.randn(8, 6, generator=random(1)).requires_grad_()
    weight_TK = torch.randn(8, 4, generator=random(2))
    found = search(query_TD, keys, torch.zeros(10), 4, tables=tables)
    grads = torch.autograd.grad((found.scores_TK * weight_TK).sum(), [query_TD, *keys])
    plain_TK = all_scores(query_TD, keys, torch.zeros(10)).gather(1, found.indices_TK)
    wanted = torch.autograd.grad((plain_TK * weight_TK).sum(), [query_TD, *keys])
    for ours, theirs in zip(grads, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert len(found.tables) == (2 if tables else 0)


def test_a_flat_search_in_blocks_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    keys_ED = torch.randn(50, 6, generator=random(0)).requires_grad_()
    query_TD = torch.randn(9, 6, generator=random(1)).requires_grad_()
    bias_E, weight_TK = 0.1 * torch.randn(50, generator=random(2)), torch.randn(9, 3, generator=random(3))
    whole = search(query_TD, keys_ED, bias_E, 3)
    monkeypatch.setattr(module, "WHOLE_UP_TO", 10)
    monkeypatch.setattr(module, "BLOCK_SCORES", 9 * 7)  # blocks of 7 keys; the last has one
    parts = search(query_TD, keys_ED, bias_E, 3)
    assert torch.equal(parts.indices_TK, whole.indices_TK)
    torch.testing.assert_close(parts.scores_TK, whole.scores_TK)
    grads, wanted = (
        torch.autograd.grad((found.scores_TK * weight_TK).sum(), [query_TD, keys_ED])
        for found in (parts, whole)
    )
    for ours, theirs in zip(grads, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert parts.tables == ()


def test_keys_that_move_before_backward_are_noticed() -> None:
    keys = sub_keys_of(4, 4, 0)
    query_TD = torch.randn(3, 4, generator=random(1)).requires_grad_()
    found = search(query_TD, keys, torch.zeros(8), 2)
    keys.first_SH.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        found.scores_TK.sum().backward()
