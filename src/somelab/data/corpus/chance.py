"""Randomness that is the same in every process and Python version: SHAKE-128 of a key, 32 bits at a time.
Only integers are used, so no rounding of a platform can change a document."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from hashlib import shake_128
from itertools import accumulate
from typing import TypeVar

Item = TypeVar("Item")
_BLOCK = struct.Struct("<128I")


class Chance:
    """An endless stream of choices that is a function of its key."""

    __slots__ = ("_key", "_num_blocks", "_numbers")

    def __init__(self, *key: object) -> None:
        self._key = "/".join(map(str, key))
        self._num_blocks = 0
        self._numbers: list[int] = []

    def below(self, limit: int) -> int:
        """A whole number from 0 to limit - 1. The bias of multiply-and-shift is below limit / 2^32."""
        if not self._numbers:
            digest = shake_128(f"{self._key}#{self._num_blocks}".encode()).digest(_BLOCK.size)
            self._numbers = list(_BLOCK.unpack(digest))
            self._num_blocks += 1
        return (self._numbers.pop() * limit) >> 32

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """`count` different places of `items`, in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]

    def ranked(self, items: Sequence[Item]) -> Item:
        """The item of rank r with weight 1 / (r + 4), so that the tail is rare (Zipf-Mandelbrot)."""
        weights = _cumulative_weights(len(items))
        return items[bisect_right(weights, self.below(weights[-1]))]


@cache
def _cumulative_weights(count: int) -> list[int]:
    return list(accumulate((1 << 20) // (rank + 4) for rank in range(count)))
