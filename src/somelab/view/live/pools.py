"""Threads for the work of the server, in pools of bounded length: for reading run folders, for models, for
the list, for journals that are followed. Work of one kind never waits for another kind, a full pool refuses
at once instead of collecting requests, and work that nobody waits for any more is not begun."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from somelab.errors import SomelabError

Value = TypeVar("Value")


class Busy(SomelabError):
    """Work that was not begun, because too much is waiting."""

    def __init__(self, error: str, seconds: int) -> None:
        super().__init__(error)
        self.seconds = seconds
        """After which a client may ask again."""


class TooLong(SomelabError):
    """Work that has not ended in time."""


class Pool:
    """Threads and a queue. Work that takes too long occupies its place until it ends, and its client is told
    so in time. When its last client leaves (the waiting is cancelled), it is taken out of the queue, or, if
    it has begun, asked to end; a thread cannot be stopped from outside."""

    def __init__(self, name: str, *, threads: int, waiting: int, seconds: float) -> None:
        """`waiting`: pieces of work that may wait; `seconds`: how long a client waits for an answer."""
        self.name, self.most, self.seconds = name, threads + waiting, seconds
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"somelab-{name}")
        self._lock = threading.Lock()
        self._num_begun = 0
        self._queued: dict[Hashable, Future[Any]] = {}
        self._num_clients: dict[Future[Any], int] = {}

    async def run(self, work: Callable[[], Value], left: threading.Event | None = None) -> Value:
        """Do it in a thread, and wait for it. `left`: set if the client leaves; long work looks at it."""
        return await self._answer(self._submit(work), left)

    async def shared(self, key: Hashable, work: Callable[[], Value]) -> Value:
        """The same, but one piece of work serves all who ask for it before it begins. Who asks later gets a
        newer answer: what they ask about may have changed meanwhile."""
        with self._lock:
            known = self._queued.get(key)
        if known is None:
            known = self._submit(lambda: self._begin(key, work), key)
        return await self._answer(known)

    def _begin(self, key: Hashable, work: Callable[[], Value]) -> Value:
        with self._lock:
            self._queued.pop(key, None)
        return work()

    def _submit(self, work: Callable[[], Value], key: Hashable = None) -> Future[Value]:
        with self._lock:
            if self._num_begun >= self.most:
                seconds = max(1, round(self.seconds / 10))
                raise Busy(f"{self._num_begun} requests for {self.name} are waiting; try again soon", seconds)
            self._num_begun += 1
            future = self._executor.submit(work)
            if key is not None:
                self._queued[key] = future
        future.add_done_callback(lambda ended: self._ended_(ended, key))
        return future

    def _ended_(self, future: Future[Any], key: Hashable) -> None:
        with self._lock:
            self._num_begun -= 1
            if self._queued.get(key) is future:  # cancelled before it began
                del self._queued[key]

    async def _answer(self, future: Future[Value], left: threading.Event | None = None) -> Value:
        # Shielded: others may wait for the same work, and one client that leaves must not cancel it.
        waited = asyncio.shield(asyncio.wrap_future(future))
        self._num_clients[future] = self._num_clients.get(future, 0) + 1
        try:
            return await asyncio.wait_for(waited, self.seconds)
        except asyncio.TimeoutError:
            raise TooLong(
                f"this takes longer than {self.seconds:.0f} s, and goes on; ask again later"
            ) from None
        except asyncio.CancelledError:
            if self._num_clients[future] == 1:
                future.cancel()  # without effect on work that has begun
                if left is not None:
                    left.set()
            raise
        finally:
            self._num_clients[future] -= 1
            if not self._num_clients[future]:
                del self._num_clients[future]

    def close(self) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
