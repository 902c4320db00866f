"""Normalised mutual information between two labellings of the same tokens, with what chance gives and an
interval.

    I(X;Y) = sum p(x,y) ln p(x,y) / (p(x) p(y))        NMI = 2 I(X;Y) / (H(X) + H(Y)), 0 if H(X) or H(Y) is 0
Two baselines, since a router that merely distinguishes words already shares information with their classes:
tokens shuffled (no information left), and classes shuffled among words of similar frequency (information
about word forms left).
Shape letters: N tokens, X groups, Y labels, A documents, W distinct (word, label) pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

PERMUTATIONS = 300
RESAMPLINGS = 300
LIKE_FREQUENCY = 8
"""Neighbours in the list of words by frequency among which classes are exchanged."""


@dataclass(frozen=True)
class Information:
    """A value beside its baseline."""

    value: float
    low: float
    high: float
    shuffled_mean: float
    shuffled_low: float
    shuffled_high: float
    p_value: float
    by_word_mean: float
    by_word_low: float
    by_word_high: float
    by_word_p_value: float
    num_permutations: int
    num_tokens: int
    num_documents: int


def nmi(table: NDArray[Any]) -> NDArray[np.float64]:
    """NMI of contingency tables [..., X, Y].

    >>> float(nmi(np.array([[2, 0], [0, 2]]))), float(nmi(np.array([[1, 1], [1, 1]])))
    (1.0, 0.0)
    """
    joint = table / np.maximum(table.sum(axis=(-2, -1), keepdims=True), 1)
    of_x, of_y = _entropy(joint.sum(axis=-1)), _entropy(joint.sum(axis=-2))
    shared = of_x + of_y - _entropy(joint.reshape(*joint.shape[:-2], -1))
    total = of_x + of_y
    # Rounding leaves entropies of 1e-16 for a single group; they count as 0.
    known = np.minimum(of_x, of_y) > 1e-12
    return np.where(known, np.clip(2 * shared / np.where(known, total, 1.0), 0.0, 1.0), 0.0)


def _entropy(share: NDArray[Any]) -> NDArray[np.float64]:
    return -np.where(share > 0, share * np.log(np.where(share > 0, share, 1.0)), 0.0).sum(axis=-1)


@dataclass(frozen=True)
class _Tokens:
    """Groups, labels, words and documents as small numbers, one of each per token."""

    group_N: NDArray[Any]
    label_N: NDArray[Any]
    word_N: NDArray[Any]
    document_N: NDArray[Any]

    @property
    def num_groups(self) -> int:
        return int(self.group_N.max()) + 1

    @property
    def num_labels(self) -> int:
        return int(self.label_N.max()) + 1

    @property
    def num_documents(self) -> int:
        return int(self.document_N.max()) + 1

    @property
    def cell_N(self) -> NDArray[Any]:
        return self.group_N * self.num_labels + self.label_N

    def table(self, labels: NDArray[Any]) -> NDArray[Any]:
        cells = np.bincount(
            self.group_N * self.num_labels + labels, minlength=self.num_groups * self.num_labels
        )
        return cells.reshape(self.num_groups, self.num_labels)


def information(
    groups: Sequence[Any] | NDArray[Any],
    labels: Sequence[Any] | NDArray[Any],
    words: Sequence[Any] | NDArray[Any],
    documents: Sequence[Any] | NDArray[Any],
    *,
    seed: int = 0,
    num_permutations: int = PERMUTATIONS,
    num_resamplings: int = RESAMPLINGS,
) -> Information | None:
    """NMI of a token's group and its label; None where there are fewer than two tokens.

    Interval: documents drawn anew with replacement, since tokens of one text are not independent; the
    quantiles are centred on the value, because resampling alone raises an NMI."""
    if len(groups) < 2:
        return None
    tokens = _Tokens(
        *(np.unique(np.asarray(part), return_inverse=True)[1] for part in (groups, labels, words, documents))
    )
    rng = np.random.default_rng(seed)
    value = float(nmi(tokens.table(tokens.label_N)))
    shuffled = np.array([nmi(tokens.table(rng.permutation(tokens.label_N))) for _ in range(num_permutations)])
    by_word = _shuffled_by_word(tokens, num_permutations, rng)
    around = _resampled(tokens, num_resamplings, rng)
    low, high = value + np.quantile(around - around.mean(), (0.025, 0.975))
    below, above = np.quantile(shuffled, (0.025, 0.975))
    word_below, word_above = np.quantile(by_word, (0.025, 0.975))

    def p_value(chance: NDArray[Any]) -> float:
        return float((1 + (chance >= value).sum()) / (1 + num_permutations))

    return Information(
        value=value,
        low=float(max(0.0, low)),
        high=float(min(1.0, high)),
        shuffled_mean=float(shuffled.mean()),
        shuffled_low=float(below),
        shuffled_high=float(above),
        p_value=p_value(shuffled),
        by_word_mean=float(by_word.mean()),
        by_word_low=float(word_below),
        by_word_high=float(word_above),
        by_word_p_value=p_value(by_word),
        num_permutations=num_permutations,
        num_tokens=len(tokens.group_N),
        num_documents=tokens.num_documents,
    )


def _shuffled_by_word(
    tokens: _Tokens, num_permutations: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """NMI with labels exchanged among words. A form that has two classes is two words, each with its own
    tokens."""
    pair_N = tokens.word_N * tokens.num_labels + tokens.label_N
    pairs, pair_N = np.unique(pair_N, return_inverse=True)
    label_W = pairs % tokens.num_labels
    group_WX = np.zeros((len(pairs), tokens.num_groups))
    np.add.at(group_WX, (pair_N, tokens.group_N), 1.0)
    by_frequency = np.argsort(-group_WX.sum(axis=1), kind="stable")
    block_W = np.arange(len(pairs)) // LIKE_FREQUENCY
    found = np.empty(num_permutations)
    for draw in range(num_permutations):
        # Sorting by block and then by chance shuffles within each block.
        shuffled = by_frequency[np.lexsort((rng.random(len(pairs)), block_W))]
        member_WY = np.zeros((len(pairs), tokens.num_labels))
        member_WY[by_frequency, label_W[shuffled]] = 1.0
        found[draw] = nmi(group_WX.T @ member_WY)
    return found


def _resampled(tokens: _Tokens, num_resamplings: int, rng: np.random.Generator) -> NDArray[np.float64]:
    num_documents, shape = tokens.num_documents, (tokens.num_groups, tokens.num_labels)
    cells_AC = np.zeros((num_documents, tokens.num_groups * tokens.num_labels), dtype=np.float32)
    np.add.at(cells_AC, (tokens.document_N, tokens.cell_N), 1.0)
    found = np.empty(num_resamplings)
    for draw in range(num_resamplings):  # one at a time: all draws of a large table may not fit in memory
        times_A = np.bincount(
            rng.integers(num_documents, size=num_documents), minlength=num_documents
        ).astype(np.float32)
        found[draw] = nmi((times_A @ cells_AC).reshape(shape))
    return found
