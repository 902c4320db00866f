"""Compute the next items in a thread while the last one is used. Order, content and errors are unchanged."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")

NUM_AHEAD = 2


def prefetched(items: Iterator[Item]) -> Generator[Item]:
    """The same items, up to two of them computed ahead. The thread ends with the iteration."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="somelab-data")
    try:
        # One worker only: a generator is not re-entrant, and items must keep their order.
        ahead: deque[Future[Item | None]] = deque(pool.submit(next, items, None) for _ in range(NUM_AHEAD))
        while (item := ahead.popleft().result()) is not None:
            ahead.append(pool.submit(next, items, None))
            yield item
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
