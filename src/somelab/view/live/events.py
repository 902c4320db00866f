"""Server-sent events: the journals of a run are read once for all clients, each with a queue of bounded
length."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from somelab.view.live.journals import RECENT_BYTES, Follower, News, Recent, increment
from somelab.view.live.messages import Increment
from somelab.view.live.pools import Busy, Pool, TooLong
from somelab.view.page.payload import UNREADABLE

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_BEATS = 15.0
MOST_WAITING = 64  # increments that a slow client may fall behind; then it must read the run again
MOST_STREAMS = 512
"""Clients that follow at once. Each holds a connection, of which a process may often have 1,024."""


def follow_pool() -> Pool:
    """One thread reads all journals that are followed: a look takes about a millisecond."""
    return Pool("events", threads=1, waiting=2 * MOST_STREAMS, seconds=30)


class Channel:
    """One run and its clients. A task polls the journals while there are any."""

    def __init__(self, folder: Path, *, inside: Path | None = None, pool: Pool | None = None) -> None:
        self.folder, self.inside = folder, inside
        self.pool = pool or follow_pool()
        self.queues: set[asyncio.Queue[Increment | None]] = set()
        self.recent = Recent()
        self.task: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()
        self._num_looks = 0

    async def _watch(self) -> None:
        follower = Follower(self.folder, inside=self.inside, last_bytes=RECENT_BYTES)
        while self.queues:
            news, made = await self._look(follower)
            if news:
                self.recent.add_(news, follower.cut)
                self._num_looks += 1
            if made is not None and self._begun.is_set():
                for queue in self.queues:
                    self._give_(queue, made)
            self._begun.set()
            if news is None or not news.is_behind:
                await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    async def _look(self, follower: Follower) -> tuple[News | None, Increment | None]:
        """What is new, and the same for the page; None where it cannot be read."""

        def look() -> tuple[News, Increment | None]:
            news = follower.news()
            return news, increment(news) if news else None

        try:
            return await self.pool.run(look)
        except (Busy, TooLong, *UNREADABLE):
            # A folder that is being moved, a disk offline, a record that is none: try again at the next poll.
            return None, None

    @staticmethod
    def _give_(queue: asyncio.Queue[Increment | None], made: Increment) -> None:
        if queue.full():
            while not queue.empty():
                queue.get_nowait()
            # Made anew: a copy would keep the text of the event.
            fields: dict[str, Any] = {name: getattr(made, name) for name in Increment.model_fields}
            fields["kind"] = "restart"
            made = Increment(**fields)
        queue.put_nowait(made)

    async def listen(self, after: int) -> AsyncIterator[Increment | None]:
        """What is later than step `after`, then everything new. None: nothing for a while, a keep-alive is
        due."""
        queue: asyncio.Queue[Increment | None] = asyncio.Queue(MOST_WAITING)
        self.queues.add(queue)
        try:
            if self.task is None or self.task.done():
                self.recent = Recent()
                self._begun.clear()
                self.task = asyncio.create_task(self._watch())
            await self._begun.wait()
            # The queue is open before the recent records are taken, so nothing is missed; the page drops
            # duplicates.
            yield await self._caught_up(after)
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), SECONDS_BETWEEN_BEATS)
                except asyncio.TimeoutError:
                    yield None
        finally:
            self.queues.discard(queue)

    async def _caught_up(self, after: int) -> Increment:
        """Computed once for all clients that have come equally far."""
        recent = self.recent.after(after)
        try:
            return await self.pool.shared(
                (self.folder, after, self._num_looks), lambda: increment(recent, after)
            )
        except (Busy, TooLong, *UNREADABLE):
            return increment(News(restarted=True, status=recent.status))


class Channels:
    """The channels of all runs that are watched."""

    def __init__(self) -> None:
        self._channels: dict[Path, Channel] = {}
        self._pool = follow_pool()

    def of(self, folder: Path, *, inside: Path | None = None) -> Channel:
        for path, channel in list(self._channels.items()):
            if not channel.queues and channel.task is not None and channel.task.done():
                del self._channels[path]
        if sum(len(channel.queues) for channel in self._channels.values()) >= MOST_STREAMS:
            raise Busy(f"{MOST_STREAMS} clients follow runs already; close some pages", 10)
        return self._channels.setdefault(folder, Channel(folder, inside=inside, pool=self._pool))

    async def close(self) -> None:
        for channel in self._channels.values():
            if channel.task is not None:
                channel.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await channel.task
        self._pool.close()


async def event_lines(increments: AsyncIterator[Increment | None]) -> AsyncIterator[str]:
    """Increments in the form of server-sent events; the id is the last step, with which a browser
    reconnects."""
    async for made in increments:
        yield ": still here\n\n" if made is None else made.event
