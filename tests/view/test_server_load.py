"""The server under load: what waits, what is refused, what is shared, and that one kind of work never holds
up another."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from torch import Tensor

from somelab.model.generate import _Reader
from somelab.view.live import server
from somelab.view.live.events import MOST_STREAMS, Channel, Channels
from somelab.view.live.journals import News, Recent, increment
from somelab.view.live.messages import Increment, TraceRequest
from somelab.view.live.pools import Busy, Pool, TooLong
from tests.view.asgi import SECONDS, Application, application
from tests.view.builders import append, synthetic_run
from tests.view.test_server_journals import in_a_loop


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Application]:
    synthetic_run(tmp_path / "runs" / "a")
    synthetic_run(tmp_path / "runs" / "b")
    with application([tmp_path / "runs"]) as made:
        yield made


class Gate:
    """Work that waits until it is let through."""

    def __init__(self) -> None:
        self.begun, self.open = threading.Semaphore(0), threading.Event()

    def pass_through(self) -> None:
        self.begun.release()
        assert self.open.wait(SECONDS)


def test_waiting_prompts_do_not_hold_up_runs(served: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()

    def trace(folder: Path, request: TraceRequest, has_left: Callable[[], bool]) -> None:
        gate.pass_through()
        raise server.Bad("let through")

    monkeypatch.setattr(served.app.state.service.models, "trace", trace)
    most = 1 + server.MOST_WAITING_FOR_MODELS

    def prompt() -> int:
        return served.ask("/api/runs/a/trace", method="POST", body=b'{"prompt": "x"}').status

    with ThreadPoolExecutor(most) as clients:
        waiting = [clients.submit(prompt) for _ in range(most)]
        assert gate.begun.acquire(timeout=SECONDS)
        while served.app.state.service.pools["models"]._num_begun < most:
            pass
        refused = served.ask("/api/runs/a/trace", method="POST", body=b'{"prompt": "x"}')
        assert refused.status == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert "are waiting" in refused.json["error"]
        assert served.ask("/api/runs").status == 200
        assert served.ask("/api/runs/b").status == 200
        assert served.ask("/api/runs/b/events").status == 200
        gate.open.set()
        assert [one.result(SECONDS) for one in waiting] == [422] * most
    assert served.ask("/api/runs/a/trace", method="POST", body=b'{"prompt": "x"}').status == 422


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_prompt_whose_client_has_left_is_not_begun(
    served: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, begun, pool = Gate(), list[str](), served.app.state.service.pools["models"]

    def trace(folder: Path, request: TraceRequest, has_left: Callable[[], bool]) -> None:
        begun.append(request.prompt)
        gate.pass_through()
        raise server.Bad("let through")

    monkeypatch.setattr(served.app.state.service.models, "trace", trace)
    visits = [served.prompt("/api/runs/a/trace", b'{"prompt": "%d"}' % number) for number in range(4)]
    until(lambda: pool._num_begun == 4)
    for asked, leave in visits[1:3]:
        leave()
        assert asked.result(SECONDS).status == 400
    assert pool._num_begun == 2  # there is room for others at once
    gate.open.set()
    assert [visits[number][0].result(SECONDS).status for number in (0, 3)] == [422, 422]
    assert begun == ["0", "3"]
    assert not pool._num_clients


def test_a_text_whose_client_has_left_ends_at_the_next_token(
    tmp_path: Path, some_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(some_run, tmp_path / "runs" / "stories", symlinks=True)
    read, gate, num_tokens = _Reader.read, Gate(), list[int]()

    def slow(self: _Reader, rows: list[list[int]]) -> Tensor:
        num_tokens.append(len(rows[0]))
        if len(num_tokens) == 3:
            gate.pass_through()
        return read(self, rows)

    monkeypatch.setattr(_Reader, "read", slow)
    with application([tmp_path / "runs"]) as served:
        pool = served.app.state.service.pools["models"]
        asked, leave = served.prompt("/api/runs/stories/trace", b'{"prompt": "a", "max_new_tokens": 200}')
        assert gate.begun.acquire(timeout=SECONDS)
        leave()
        assert asked.result(SECONDS).status == 400
        gate.open.set()
        until(lambda: pool._num_begun == 0)
        assert len(num_tokens) == 3
        reply = served.ask("/api/runs/stories/trace", method="POST", body=b'{"prompt": "a"}')
        assert reply.status == 200


def test_shared_work_goes_on_for_those_who_stay() -> None:
    gate, calls = Gate(), list[str]()

    async def clients() -> tuple[str, int]:
        pool = Pool("tests", threads=1, waiting=5, seconds=SECONDS)
        first = asyncio.create_task(pool.run(gate.pass_through))
        tasks = [asyncio.create_task(pool.shared("a", lambda: calls.append("a") or "a")) for _ in range(3)]
        alone = asyncio.create_task(pool.shared("b", lambda: calls.append("b") or "b"))
        await asyncio.sleep(0.05)
        for task in (*tasks[:2], alone):
            task.cancel()
        await asyncio.gather(*tasks[:2], alone, return_exceptions=True)
        gate.open.set()
        await first
        found = await tasks[2]
        await pool.shared("b", lambda: calls.append("again"))
        return found, pool._num_begun

    assert in_a_loop(clients()) == ("a", 0)
    assert calls == ["a", "again"]


def test_a_look_that_takes_long_does_not_hold_up_the_list(
    served: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = served.ask("/api/runs")
    gate, service = Gate(), served.app.state.service
    look: Callable[[], object] = service.list.look

    def slow() -> object:
        gate.pass_through()
        return look()

    monkeypatch.setattr(service.list, "look", slow)
    service._listed = (-1e9, service._listed[1])
    again = served.ask("/api/runs")  # while the look goes on
    assert again.json == first.json
    assert gate.begun.acquire(timeout=SECONDS)
    assert served.ask("/api/runs").json == first.json
    assert not gate.begun.acquire(blocking=False)  # one look for all who ask
    gate.open.set()


def test_work_is_shared_until_it_begins() -> None:
    gate, calls = Gate(), list[str]()

    def work(name: str) -> Callable[[], int]:
        def run() -> int:
            calls.append(name)
            gate.pass_through()
            return len(calls)

        return run

    async def clients() -> list[int]:
        pool = Pool("tests", threads=1, waiting=5, seconds=SECONDS)
        running = asyncio.create_task(pool.shared("a", work("a")))
        while not calls:
            await asyncio.sleep(0.01)
        later = [asyncio.create_task(pool.shared("a", work("a"))) for _ in range(20)]
        await asyncio.sleep(0.05)
        gate.open.set()
        return [await task for task in (running, *later)]

    # Those who came while it ran share one that begins after they asked.
    assert in_a_loop(clients()) == [1] + [2] * 20
    assert calls == ["a", "a"]


def test_a_full_pool_refuses_and_recovers() -> None:
    gate = Gate()

    async def clients() -> tuple[int, int]:
        pool = Pool("tests", threads=1, waiting=2, seconds=SECONDS)
        tasks = [asyncio.create_task(pool.run(gate.pass_through)) for _ in range(10)]
        await asyncio.sleep(0.05)
        gate.open.set()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        await pool.run(lambda: None)
        return sum(one is None for one in ended), sum(isinstance(one, Busy) for one in ended)

    assert in_a_loop(clients()) == (3, 7)


def test_a_client_is_told_when_it_takes_too_long() -> None:
    gate = Gate()

    async def client() -> None:
        pool = Pool("tests", threads=1, waiting=1, seconds=0.05)
        try:
            with pytest.raises(TooLong, match="goes on"):
                await pool.run(gate.pass_through)
            with pytest.raises(TooLong):
                await pool.run(lambda: None)  # the thread is still at work
        finally:
            gate.open.set()

    in_a_loop(client())


def test_errors_come_through_a_pool() -> None:
    async def client() -> None:
        pool = Pool("tests", threads=1, waiting=1, seconds=SECONDS)
        with pytest.raises(ZeroDivisionError):
            await pool.shared("a", lambda: 1 / 0)
        assert await pool.shared("a", lambda: 1) == 1

    in_a_loop(client())


def test_who_is_further_behind_than_is_held_reads_again() -> None:
    recent = Recent()
    for first in range(0, 10_000, 100):
        metrics = [{"kind": "train", "step": step, "loss": 1.0} for step in range(first, first + 100)]
        records = {"metrics": metrics, "layers": [], "timing": [], "samples": []}
        recent.add_(News(records=records, num_bytes={"metrics": 6_000}, status="running"))
    held = sum(len(look) for look, _ in recent.looks["metrics"])
    assert held < 10_000
    assert increment(recent.after(10), 10).kind == "restart"
    late = increment(recent.after(9_990), 9_990)
    assert (late.kind, late.curves.train.step) == ("increment", list(range(9_991, 10_000)))
    recent.add_(News(restarted=True, status="stopped"))
    assert increment(recent.after(-1), -1).curves.train.step == []


def test_a_long_journal_is_followed_from_its_end(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path / "run")
    train = [{"kind": "train", "step": step, "loss": 1.0, "tokens": step} for step in range(5, 9_000)]
    append(run, "metrics", [{"kind": "final", "step": 4, "val_loss": 1.0}, *train])

    async def watch() -> list[Increment | None]:
        channel = Channel(run.path)
        got: list[Increment | None] = []
        for after in (-1, 8_990):
            stream = channel.listen(after)
            got.append(await anext(stream))
            await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        return got

    everything, late = in_a_loop(watch())
    assert everything is not None
    assert everything.kind == "restart"  # more than a channel holds: the page reads the run
    assert late is not None
    assert late.curves.train.step == list(range(8_991, 9_000))
    assert late.status == "finished"  # though the record that ends the run is far before


def test_a_record_that_is_none_does_not_end_a_stream(tmp_path: Path) -> None:
    run = synthetic_run(tmp_path / "run")

    async def watch() -> list[int]:
        stream = Channel(run.path).listen(-1)
        await anext(stream)
        append(run, "metrics", [{"kind": "train", "step": 5, "loss": 1, "tokens": "many"}])
        append(run, "layers", [{"step": 5, "layers": 3}])
        await asyncio.sleep(1.2)
        append(run, "metrics", [{"kind": "train", "step": 6, "loss": 1, "tokens": 2}])
        made = await anext(stream)
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        assert made is not None
        return made.curves.train.step

    assert in_a_loop(watch()) == [6]


def test_a_restart_is_sent_as_one() -> None:
    """The text of an event is made once; that of a copy must be its own."""
    made = increment(News(status="running"))
    queue: asyncio.Queue[Increment | None] = asyncio.Queue(1)
    assert '"kind":"increment"' in made.event
    for _ in "ab":
        Channel._give_(queue, made)
    last = queue.get_nowait()
    assert last is not None
    assert '"kind":"restart"' in last.event


def test_streams_are_bounded_and_channels_are_forgotten(tmp_path: Path) -> None:
    async def follow() -> tuple[int, int]:
        channels = Channels()
        channel = channels.of(tmp_path)
        channel.queues |= {asyncio.Queue() for _ in range(MOST_STREAMS)}
        with pytest.raises(Busy, match="close some pages"):
            channels.of(tmp_path / "other")
        channel.queues.clear()
        stream = channel.listen(-1)
        await anext(stream)
        await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        assert channel.task is not None
        await channel.task
        channels.of(tmp_path / "other")
        return len(channels._channels), len(channel.queues)

    assert in_a_loop(follow()) == (1, 0)
