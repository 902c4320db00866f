"""Distinctive words or classes of a group: those that are more frequent in it than in all tokens.

    lift(w) = share of w in the group / share of w in all        weight(w) = count * ln lift
Words are sorted by weight: the word's contribution to the divergence of the two distributions, so that rare
words do not dominate."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

LEAST_COUNT = 3
LEAST_LIFT = 1.2


@dataclass(frozen=True)
class Use:
    """A word (or class) of a group."""

    word: str
    count: int
    lift: float


def distinctive(
    group: Mapping[str, int], everything: Mapping[str, int], most: int, least_count: int = LEAST_COUNT
) -> list[Use]:
    """The distinctive words of a group, strongest first; ties in alphabetical order.

    >>> distinctive({"dog": 3, "the": 3}, {"dog": 3, "the": 9}, 5)
    [Use(word='dog', count=3, lift=2.0)]
    """
    total, in_all = sum(group.values()), sum(everything.values())
    if not total:
        return []
    uses = [
        Use(word, count, count / total / (everything[word] / in_all))
        for word, count in group.items()
        if count >= least_count
    ]
    uses = [use for use in uses if use.lift >= LEAST_LIFT]
    return sorted(uses, key=lambda use: (-use.count * math.log(use.lift), use.word))[:most]


def shares(counts: Counter[str]) -> dict[str, float]:
    """The shares of a count, the largest first."""
    total = max(1, counts.total())
    return {name: count / total for name, count in counts.most_common()}
