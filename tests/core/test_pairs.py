"""Pairs chosen together: the list and the table say the same, and the list never grows with E x E.

Shape letters: T tokens, E experts, K experts per token."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from somelab.config import GravityConfig
from somelab.core.keystore import KeyStore
from somelab.core.pairs import PairCounts
from somelab.core.statistics import RoutingStatistics
from tests.core.builders import random, routing_of, seen_of, small_layer, tokens_of


def draw(num_tokens: int, num_experts: int, top_k: int, seed: int) -> torch.Tensor:
    return torch.rand(num_tokens, num_experts, generator=random(seed)).topk(top_k, dim=1).indices


def test_by_hand() -> None:
    # (0, 2) meet twice, in either order; the token that does not count brings 1 and 3 together in vain.
    for sparse in (False, True):
        pairs = PairCounts(4, sparse=sparse)
        pairs.add_(torch.tensor([[0, 2], [2, 0], [3, 1], [1, 2]]), torch.tensor([1.0, 1.0, 0.0, 1.0]))
        assert pairs.dense().tolist() == [[0, 0, 2, 0], [0, 0, 1, 0], [2, 1, 0, 0], [0, 0, 0, 0]]
        met = pairs.pairs()
        assert list(zip(met.first_P.tolist(), met.second_P.tolist(), met.count_P.tolist())) == [
            (0, 2, 2.0),
            (1, 2, 1.0),
            (2, 0, 2.0),
            (2, 1, 1.0),
        ]
        pairs.zero_()
        assert not pairs.dense().any()
        assert not pairs.pairs().count_P.numel()


@given(
    num_experts=st.integers(1, 9),
    top_k=st.integers(1, 5),
    sizes=st.lists(st.integers(0, 7), max_size=4),
    seed=st.integers(0, 999),
)
def test_list_and_table_agree(num_experts: int, top_k: int, sizes: list[int], seed: int) -> None:
    top_k = min(top_k, num_experts)
    table, listed = PairCounts(num_experts, sparse=False), PairCounts(num_experts, sparse=True)
    for number, size in enumerate(sizes):
        indices_TK = draw(size, num_experts, top_k, seed + number)
        weight_T = (torch.rand(size, generator=random(seed)) < 0.7).float() if number % 2 else None
        table.add_(indices_TK, weight_T)
        listed.add_(indices_TK, weight_T)
    assert torch.equal(table.dense(), listed.dense())
    assert not table.dense().diagonal().any()
    assert torch.equal(table.dense(), table.dense().T)
    for a, b in zip(table.pairs(), listed.pairs()):
        assert torch.equal(a, b)


def test_merged_lists_equal_one_list() -> None:
    indices_TK = draw(20, 9, 3, seed=1)
    whole, merged = PairCounts(9, sparse=True), PairCounts(9, sparse=True)
    whole.add_(indices_TK, None)
    for part in indices_TK.split(6):
        other = PairCounts(9, sparse=True)
        other.add_(part, None)
        merged.merge_(other.code_P, other.count)
    assert torch.equal(whole.code_P, merged.code_P)
    assert torch.equal(whole.count, merged.count)


@pytest.mark.parametrize("settings", [{}, {"inertia": "min", "pull_until_cosine": 0.2}, {"beta": 2.0}])
def test_the_rules_give_the_same_keys(settings: dict[str, Any]) -> None:
    indices_TK = draw(30, 7, 3, seed=2)
    queries_TD = torch.nn.functional.normalize(torch.randn(30, 5, generator=random(3)), dim=1)
    keys: list[torch.Tensor] = []
    for form in ("dense", "sparse"):
        whole: dict[str, Any] = {"beta": 0.05, "pairs": form, **settings}
        config = GravityConfig(**whole)
        store = KeyStore(7, 5, config, seed=0)
        store.apply_(seen_of(config, 7, routing_of(indices_TK, queries_TD)))
        keys.append(store.keys_ED.clone())
    torch.testing.assert_close(keys[0], keys[1], rtol=0, atol=2e-6)  # the sums are taken in another order


def test_a_hundred_thousand_experts() -> None:
    """A table would take 40 GB. The list holds what 64 tokens can show, and a step of all rules runs on
    it."""
    num_experts, d_model, num_tokens, top_k = 100_000, 4, 64, 4
    config = GravityConfig(beta=0.1, respawn=True, decay=False)
    seen = RoutingStatistics(num_experts, d_model, config)
    assert seen.lists_pairs
    indices_TK = torch.randint(num_experts, (num_tokens, top_k), generator=random(4))
    indices_TK[:, 0] = num_experts - 1  # the largest codes, beyond 32 bits
    seen.add_(
        routing_of(indices_TK, tokens_of(num_tokens, d_model)), step=0, counted_T=None, token_index_T=None
    )
    assert seen.pairs.count.numel() <= num_tokens * top_k * (top_k - 1)
    assert seen.pairs.code_P.numel() == seen.pairs.count.numel()
    met = seen.pairs.pairs()
    assert int(met.first_P.max()) == num_experts - 1
    assert float(met.count_P.sum()) == num_tokens * top_k * (top_k - 1)
    elements = sum(value.numel() for value in seen.buffers())
    assert elements <= num_experts * (d_model + 4)
    store = KeyStore(num_experts, d_model, config, seed=0)
    before_ED = store.keys_ED.clone()
    store.apply_(seen)
    moved = (store.keys_ED - before_ED).norm(dim=1) > 1e-4
    assert set(indices_TK.unique().tolist()) >= set(moved.nonzero()[:, 0].tolist())
    assert int(moved.sum()) > num_tokens


@pytest.mark.parametrize(("num_experts", "listed"), [(2048, False), (2049, True)])
def test_auto_chooses_by_size(num_experts: int, listed: bool) -> None:
    assert RoutingStatistics(num_experts, 2, GravityConfig()).lists_pairs is listed
    assert RoutingStatistics(num_experts, 2, GravityConfig(pairs="sparse")).lists_pairs
    assert not RoutingStatistics(8, 2, GravityConfig(pairs="dense")).lists_pairs


def test_a_layer_with_listed_pairs_moves_its_keys_like_one_with_a_table() -> None:
    digests: list[torch.Tensor] = []
    for form in ("dense", "sparse"):
        layer = small_layer(gravity={"pairs": form, "beta": 0.2})
        for step in range(3):
            for part in tokens_of(24, 16, seed=step).split(8):
                layer(part)
            layer.apply_gravity_()
        digests.append(layer.keystore.keys_ED.clone())
    # The sums are taken in another order.
    torch.testing.assert_close(digests[0], digests[1], rtol=0, atol=2e-6)
