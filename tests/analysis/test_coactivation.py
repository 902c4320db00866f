"""Co-activation: pair counts and their expectation by hand, planted guilds found, and none where there are
none."""

from __future__ import annotations

import numpy as np
import pytest

from somelab.analysis.coactivation import companions, expected_counts, pair_counts, similarity
from somelab.analysis.communities import communities, modularity
from somelab.analysis.guilds import find_guilds


def test_pairs_by_hand() -> None:
    counts = pair_counts(np.array([[0, 1], [1, 0], [2, 1]]), 4)
    assert counts.tolist() == [[2, 2, 0, 0], [2, 3, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]


def test_the_expectation_keeps_every_experts_meetings_and_no_one_meets_itself() -> None:
    rng = np.random.default_rng(0)
    weight = rng.random(12) + 0.2
    tokens = np.array([rng.choice(12, size=3, replace=False, p=weight / weight.sum()) for _ in range(4000)])
    counts = pair_counts(tokens, 12)
    expected = expected_counts(counts)
    assert np.diag(expected).tolist() == [0.0] * 12
    np.testing.assert_allclose(expected.sum(axis=1), counts.sum(axis=1) - np.diag(counts), rtol=1e-6)


def test_an_expert_that_everyone_uses_seeks_no_ones_company() -> None:
    """Expert 0 reads every token, beside one of seven others by chance: it meets each as often as that one is
    used."""
    others = np.random.default_rng(1).integers(1, 8, size=(3000, 1))
    tokens = np.hstack([np.zeros((3000, 1), dtype=int), others])
    counts = pair_counts(tokens, 8)
    assert expected_counts(counts)[0, 1:] == pytest.approx(counts[0, 1:], rel=0.02)
    assert find_guilds(counts)[0].tolist() == [-1] * 8


def test_chance_has_no_edges() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        weight = rng.random(64) ** 2 + 0.01
        scores = np.log(weight) + rng.gumbel(size=(5000, 64))
        tokens = np.argsort(-scores, axis=1)[:, :4]
        assert not companions(pair_counts(tokens, 64)).any()


def planted(
    rng: np.random.Generator, guilds: int, size: int, noise: float, num_tokens: int = 4000
) -> np.ndarray:
    """Tokens that choose 3 experts of one guild, and with probability `noise` any other in place of the
    third."""
    rows = []
    for _ in range(num_tokens):
        row = rng.integers(guilds) * size + rng.permutation(size)[:3]
        if rng.random() < noise:
            row[2] = rng.choice(np.setdiff1d(np.arange(guilds * size), row[:2]))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("noise", [0.0, 0.3, 0.6])
def test_planted_guilds_are_found(noise: float) -> None:
    tokens = planted(np.random.default_rng(0), guilds=6, size=5, noise=noise)
    places = np.random.default_rng(1).permutation(30)  # so that the order of experts gives nothing away
    guild, quality = find_guilds(pair_counts(places[tokens], 30))
    found = guild[places].reshape(6, 5)
    assert all(len(set(row)) == 1 for row in found.tolist())
    assert sorted({row[0] for row in found.tolist()}) == [0, 1, 2, 3, 4, 5]
    assert quality > 0.5


def test_guilds_are_numbered_by_use_and_lone_experts_have_none() -> None:
    tokens = np.array([[2, 3]] * 50 + [[0, 1]] * 30 + [[4, 5]] * 40)
    guild, _ = find_guilds(pair_counts(tokens, 8))
    assert guild.tolist() == [2, 2, 0, 0, 1, 1, -1, -1]


def test_experts_that_all_tokens_use_are_together_of_necessity_and_no_guild() -> None:
    """A router that has collapsed onto K experts: they meet as often as their use makes them, and chance
    explains it."""
    guild, _ = find_guilds(pair_counts(np.array([[0, 1, 2]] * 500), 8))
    assert guild.tolist() == [-1] * 8


def test_one_expert_per_token_makes_no_guild() -> None:
    guild, quality = find_guilds(pair_counts(np.random.default_rng(0).integers(8, size=(500, 1)), 8))
    assert guild.tolist() == [-1] * 8
    assert quality == 0.0


def test_similarity_is_one_for_experts_that_are_always_together() -> None:
    together = similarity(pair_counts(np.array([[0, 1], [0, 1], [2, 3], [2, 0]]), 4))
    assert together[0, 1] == pytest.approx(2 / np.sqrt(6))
    assert together[2, 3] == pytest.approx(1 / np.sqrt(2))
    assert np.diag(together).tolist() == pytest.approx([1, 1, 1, 1])


def test_modularity_by_hand() -> None:
    # Two triangles joined by one edge: 7 edges; inside each 3; degrees sum to 7 in each. Q = 2 (3/7 -
    # (7/14)^2) = 5/14.
    graph = np.zeros((6, 6))
    for i, j in ((0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)):
        graph[i, j] = graph[j, i] = 1
    assert modularity(graph, np.array([0, 0, 0, 1, 1, 1])) == pytest.approx(5 / 14)
    assert modularity(graph, np.zeros(6, dtype=int)) == pytest.approx(0.0)
    assert communities(graph).tolist() == [0, 0, 0, 1, 1, 1]


def test_communities_of_communities_are_found_in_a_ring() -> None:
    """Sixteen pairs in a ring, each tightly bound: the second level must not break what the first has
    found."""
    graph = np.zeros((32, 32))
    for pair in range(16):
        i, j, k = 2 * pair, 2 * pair + 1, (2 * pair + 2) % 32
        graph[i, j] = graph[j, i] = 10
        graph[j, k] = graph[k, j] = 0.1
    found = communities(graph)
    assert all(found[2 * pair] == found[2 * pair + 1] for pair in range(16))
    assert modularity(graph, found) >= modularity(graph, np.arange(32) // 2)


def test_a_graph_without_edges_leaves_everyone_alone() -> None:
    assert communities(np.zeros((4, 4))).tolist() == [0, 1, 2, 3]


def test_the_division_does_not_depend_on_the_numbering() -> None:
    tokens = planted(np.random.default_rng(2), guilds=4, size=4, noise=0.2)
    places = np.random.default_rng(3).permutation(16)
    one, other = find_guilds(pair_counts(tokens, 16))[0], find_guilds(pair_counts(places[tokens], 16))[0]
    same = (one[:, None] == one[None, :]).tolist()
    assert (other[places][:, None] == other[places][None, :]).tolist() == same
