"""Randomness that is the same in every process and Python version: SHAKE-128 of a key, read in 32-bit numbers.
Only integers are used, so no rounding of a platform can change a document."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from hashlib import shake_128
from itertools import accumulate
from typing import Generic, TypeVar

Item = TypeVar("Item")

_NUMBERS_PER_BLOCK = 128
_BLOCK = struct.Struct(f"<{_NUMBERS_PER_BLOCK}I")


class Chance:
    """An endless stream of choices that follows from its key alone."""

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

    def happens(self, percent: int) -> bool:
        return self.below(100) < percent

    def pick(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def sample(self, items: Sequence[Item], count: int) -> list[Item]:
        """`count` different places of `items`, in random order."""
        rest = list(items)
        return [rest.pop(self.below(len(rest))) for _ in range(count)]


class Bag(Generic[Item]):
    """Items in order of frequency: the item of rank r is drawn with weight 1 / (r + 4), so the tail is rare (Zipf-Mandelbrot)."""

    __slots__ = ("_cumulative", "items")

    def __init__(self, items: Iterable[Item]) -> None:
        self.items = tuple(items)
        assert self.items, "an empty bag has nothing to draw"
        self._cumulative = list(accumulate((1 << 20) // (rank + 4) for rank in range(len(self.items))))

    def draw(self, chance: Chance) -> Item:
        return self.items[bisect_right(self._cumulative, chance.below(self._cumulative[-1]))]

    def draw_other(self, chance: Chance, *taken: Item) -> Item:
        """An item that is none of `taken`."""
        assert len(self.items) > len(taken), "everything is taken"
        while (item := self.draw(chance)) in taken:
            pass
        return item

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
