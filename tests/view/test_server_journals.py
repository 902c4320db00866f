"""Journals followed by offset: whole lines only, nothing twice, and a journal that was cut is taken from its
start."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from somelab.view.live.events import MOST_WAITING, Channel, event_lines
from somelab.view.live.journals import Follower, Tail, increment
from somelab.view.live.messages import Increment
from somelab.view.page.payload import run_of

T = TypeVar("T")


def in_a_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run it in a thread of its own: a browser test in the same process leaves a loop running in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def write(path: Path, *records: dict[str, object], tail: bytes = b"", mode: str = "ab") -> None:
    with path.open(mode) as file:
        file.write(b"".join(json.dumps(record).encode() + b"\n" for record in records) + tail)


def test_only_whole_and_new_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tail = Tail(path)
    assert tail.read() == ([], False)
    write(path, {"step": 1}, {"step": 2}, tail=b'{"step"')
    assert tail.read() == ([{"step": 1}, {"step": 2}], False)
    assert tail.read() == ([], False)
    write(path, tail=b": 3}\n")
    assert tail.read() == ([{"step": 3}], False)


def test_a_shorter_journal_is_taken_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write(path, {"step": 1}, {"step": 2})
    tail = Tail(path)
    tail.read()
    write(path, {"step": 1}, mode="wb")
    assert tail.read() == ([], True)
    assert tail.read() == ([{"step": 1}], False)


def test_a_journal_that_was_cut_and_has_grown_again_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write(path, {"step": 1}, {"step": 2})
    tail = Tail(path)
    tail.read()
    write(path, {"step": 1}, {"step": 1.5}, {"step": 2}, {"step": 3}, mode="wb")
    assert tail.read() == ([], True)
    assert [record["step"] for record in tail.read()[0]] == [1, 1.5, 2, 3]


def test_a_damaged_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write(path, {"step": 1}, tail=b"{oops\n[1]\n")
    write(path, {"step": 2})
    assert Tail(path).read() == ([{"step": 1}, {"step": 2}], False)


def test_increments_add_up_to_the_run(tmp_path: Path, some_run: Path) -> None:
    """Half of a run, then the rest as it comes: together they are what reading the whole run gives."""
    run = shutil.copytree(some_run, tmp_path / "a", symlinks=True)
    whole = run_of(run)
    content = {
        name: (run / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
        for name in ("metrics", "layers", "timing")
    }
    for name, lines in content.items():
        (run / f"{name}.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
    follower = Follower(run)
    parts = [increment(follower.news())]
    for name, lines in content.items():
        (run / f"{name}.jsonl").write_bytes(b"".join(lines))
    parts.append(increment(follower.news()))
    assert parts[0].curves.train.step
    assert parts[1].curves.train.step
    assert [step for part in parts for step in part.curves.train.step] == whole.curves.train.step
    assert [loss for part in parts for loss in part.curves.train.loss] == whole.curves.train.loss
    assert whole.balance is not None
    gini = [value for part in parts for value in part.training.measures["gini"][0]]
    assert gini == whole.balance.training.measures["gini"][0]
    assert [warning for part in parts for warning in part.warnings] == whole.warnings
    assert parts[0].status == "stopped"
    assert parts[1].status == "finished"
    assert not follower.news()


def test_after_leaves_out_what_the_page_has(some_run: Path) -> None:
    everything = increment(Follower(some_run).news())
    later = increment(Follower(some_run).news(), after=everything.curves.train.step[3])
    assert later.curves.train.step == everything.curves.train.step[4:]
    assert later.evaluation.steps == [
        step for step in everything.evaluation.steps if step > everything.curves.train.step[3]
    ]


def test_watchers_share_one_look_and_catch_up(tmp_path: Path, some_run: Path) -> None:
    run = shutil.copytree(some_run, tmp_path / "a", symlinks=True)
    lines = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (run / "metrics.jsonl").write_bytes(b"".join(lines[:6]))

    async def watch() -> tuple[list[Increment | None], list[Increment | None], int]:
        channel = Channel(run)
        first, second = channel.listen(-1), channel.listen(2)
        got = [[await anext(first)], [await anext(second)]]
        num_tasks = len([task for task in asyncio.all_tasks() if task is not asyncio.current_task()])
        await asyncio.sleep(0.3)  # the look that all share is made
        (run / "metrics.jsonl").write_bytes(b"".join(lines))
        got[0].append(await anext(first))
        got[1].append(await anext(second))
        await first.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        await second.aclose()  # pyright: ignore[reportAttributeAccessIssue]
        assert not channel.queues
        return got[0], got[1], num_tasks

    one, two, num_tasks = in_a_loop(watch())
    assert num_tasks == 1
    assert one[0] is not None
    assert two[0] is not None
    assert set(two[0].curves.train.step) == {step for step in one[0].curves.train.step if step > 2}
    assert one[1] == two[1]
    assert one[1] is not None
    assert one[1].curves.train.step


def test_a_slow_reader_is_told_to_read_anew(some_run: Path) -> None:
    made = increment(Follower(some_run).news())
    queue: asyncio.Queue[Increment | None] = asyncio.Queue(MOST_WAITING)
    for _ in range(MOST_WAITING + 1):
        Channel._give_(queue, made)
    assert queue.qsize() == 1
    last = queue.get_nowait()
    assert last is not None
    assert last.kind == "restart"


def test_events_have_the_form_that_browsers_read(some_run: Path) -> None:
    made = increment(Follower(some_run).news())

    async def lines() -> list[str]:
        async def source():
            yield made
            yield None

        return [line async for line in event_lines(source())]

    event, beat = in_a_loop(lines())
    assert beat.startswith(":")
    name, mark, data, *rest = event.split("\n")
    assert (name, mark) == ("event: increment", f"id: {made.curves.train.step[-1]}")
    assert Increment.model_validate_json(data.removeprefix("data: ")) == made
    assert rest == ["", ""]
