"""Server-sent events: the journals of a run are read once for all clients, each with a queue of bounded
length."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from somelab.view.live.journals import Follower, increment
from somelab.view.live.messages import Increment

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_BEATS = 15.0
MOST_WAITING = 64  # increments that a slow client may fall behind; then it must read the run again


class Channel:
    """One run and its clients. A task polls the journals while there are any."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.queues: set[asyncio.Queue[Increment | None]] = set()
        self.task: asyncio.Task[None] | None = None

    async def _watch(self) -> None:
        follower = Follower(self.folder)
        with contextlib.suppress(OSError):
            await asyncio.to_thread(follower.news)  # each client reads earlier records itself
        while self.queues:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            try:
                news = await asyncio.to_thread(follower.news)
            except OSError:  # a folder being moved, or a disk offline: try again at the next poll
                continue
            if news:
                made = increment(news)
                for queue in self.queues:
                    self._give_(queue, made)

    @staticmethod
    def _give_(queue: asyncio.Queue[Increment | None], made: Increment) -> None:
        if queue.full():
            while not queue.empty():
                queue.get_nowait()
            made = made.model_copy(update={"kind": "restart"})
        queue.put_nowait(made)

    async def listen(self, after: int) -> AsyncIterator[Increment | None]:
        """What is later than step `after`, then everything new. None: nothing for a while, a keep-alive is
        due."""
        queue: asyncio.Queue[Increment | None] = asyncio.Queue(MOST_WAITING)
        self.queues.add(queue)
        try:
            if self.task is None or self.task.done():
                self.task = asyncio.create_task(self._watch())
            # The queue is open before the journals are read, so nothing is missed; the page drops duplicates.
            caught_up = await asyncio.to_thread(lambda: increment(Follower(self.folder).news(), after))
            yield caught_up
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), SECONDS_BETWEEN_BEATS)
                except asyncio.TimeoutError:
                    yield None
        finally:
            self.queues.discard(queue)


class Channels:
    """The channels of all runs that are watched."""

    def __init__(self) -> None:
        self._channels: dict[Path, Channel] = {}

    def of(self, folder: Path) -> Channel:
        return self._channels.setdefault(folder, Channel(folder))

    async def close(self) -> None:
        for channel in self._channels.values():
            if channel.task is not None:
                channel.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await channel.task


async def event_lines(increments: AsyncIterator[Increment | None]) -> AsyncIterator[str]:
    """Increments in the form of server-sent events; the id is the last step, with which a browser
    reconnects."""
    async for made in increments:
        if made is None:
            yield ": still here\n\n"
            continue
        steps = made.curves.train.step
        mark = f"id: {steps[-1]}\n" if steps else ""
        yield f"event: increment\n{mark}data: {made.model_dump_json()}\n\n"
