"""Mutual information against tables worked out by hand, and its two baselines against groupings built to
reach them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from somelab.analysis.information import information, nmi


def test_equal_labellings_share_everything_and_independent_ones_nothing() -> None:
    assert nmi(np.array([[5, 0], [0, 5]])) == pytest.approx(1.0)
    assert nmi(np.array([[0, 3, 0], [3, 0, 0], [0, 0, 3]])) == pytest.approx(1.0)
    assert nmi(np.array([[2, 4], [3, 6]])) == pytest.approx(0.0, abs=1e-12)


def test_a_table_by_hand() -> None:
    # p = [[1/2, 0], [1/4, 1/4]]: H(X) = ln 2; H(Y) = 3/4 ln 4/3 + 1/4 ln 4; H(X,Y) = 1/2 ln 2 + 1/2 ln 4 =
    # 3/2 ln 2.
    of_x = math.log(2)
    of_y = 0.75 * math.log(4 / 3) + 0.25 * math.log(4)
    shared = of_x + of_y - 1.5 * math.log(2)
    assert nmi(np.array([[2, 0], [1, 1]])) == pytest.approx(2 * shared / (of_x + of_y))
    assert shared == pytest.approx(0.2157616, abs=1e-6)


def test_one_group_alone_says_nothing() -> None:
    assert nmi(np.array([[3, 4]])) == 0.0
    assert nmi(np.array([[3], [4]])) == 0.0
    assert nmi(np.zeros((2, 2))) == 0.0


def test_several_tables_at_once_equal_each_alone() -> None:
    tables = np.array([[[2, 0], [1, 1]], [[1, 1], [1, 1]], [[4, 0], [0, 1]]])
    assert nmi(tables) == pytest.approx([float(nmi(table)) for table in tables])


def corpus(rng: np.random.Generator, num_tokens: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words 0-39 of four classes (by number modulo 4), frequent ones first, in documents of 30 tokens."""
    weight = 1 / (1 + np.arange(40))
    words = rng.choice(40, size=num_tokens, p=weight / weight.sum())
    return words, words % 4, np.arange(num_tokens) // 30


def test_a_grouping_by_class_beats_both_baselines() -> None:
    words, labels, documents = corpus(np.random.default_rng(0))
    found = information(labels, labels, words, documents)
    assert found is not None
    assert found.value == pytest.approx(1.0)
    assert found.shuffled_high < 0.01
    assert found.by_word_high < 0.7
    assert found.p_value == found.by_word_p_value == pytest.approx(1 / 301)
    assert found.num_documents == 100


def test_a_grouping_by_word_forms_beats_the_shuffled_tokens_but_not_the_shuffled_words() -> None:
    """What makes the second baseline necessary: groups that follow words and know nothing of their
    classes."""
    words, labels, documents = corpus(np.random.default_rng(1))
    inside = 0
    for seed in range(8):
        groups = np.random.default_rng(100 + seed).integers(5, size=40)[words]
        found = information(groups, labels, words, documents, num_permutations=200, num_resamplings=50)
        assert found is not None
        assert found.value > 5 * found.shuffled_high
        inside += found.by_word_low <= found.value <= found.by_word_high
    assert inside >= 6


def test_independent_groups_are_within_the_baseline() -> None:
    words, labels, documents = corpus(np.random.default_rng(2))
    groups = np.random.default_rng(3).integers(5, size=len(words))
    found = information(groups, labels, words, documents)
    assert found is not None
    assert found.p_value > 0.01
    assert found.value < 0.01


def test_the_interval_holds_the_value_and_follows_the_documents() -> None:
    rng = np.random.default_rng(4)
    words, labels, _ = corpus(rng)
    groups = np.where(rng.random(len(words)) < 0.7, labels, rng.integers(4, size=len(words)))
    many = information(groups, labels, words, np.arange(len(words)) // 10)
    # The same tokens in few documents of unlike quality: what one document says of the next is worth less.
    few = np.sort(rng.integers(4, size=len(words)))
    mixed = np.where(few < 2, labels, rng.integers(4, size=len(words)))
    coarse = information(mixed, labels, words, few)
    assert many is not None
    assert coarse is not None
    assert many.low < many.value < many.high
    assert coarse.high - coarse.low > 3 * (many.high - many.low)


def test_the_seed_decides_and_names_do_not_matter() -> None:
    words, labels, documents = corpus(np.random.default_rng(5), 600)
    first = information(words % 3, labels, words, documents, seed=7)
    names = [f"class {label}" for label in labels]
    assert first == information(
        [f"g{group}" for group in words % 3], names, [f"w{word:02d}" for word in words], documents, seed=7
    )
    other = information(words % 3, labels, words, documents, seed=8)
    assert first is not None
    assert other is not None
    assert first.value == other.value
    assert first.shuffled_mean != other.shuffled_mean


def test_too_little_to_say() -> None:
    assert information([], [], [], []) is None
    assert information([1], [1], [1], [0]) is None
