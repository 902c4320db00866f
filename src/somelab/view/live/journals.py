"""Follows the journals of a run by their offsets: only new records are read, once for all clients. A journal
that was cut back (by a resumed run) is detected and read again."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from somelab.disk import guarded
from somelab.runs import RunFolder
from somelab.view.live.messages import Increment
from somelab.view.page import curves as journals
from somelab.view.page.balance import evaluation_series, training_series
from somelab.view.page.records import Metrics, Table
from somelab.view.page.tail import Record, Tail
from somelab.view.schema.page import Status

NAMES = ("metrics", "layers", "timing", "samples")
RECENT_BYTES = 256 << 10
"""Bytes at the end of each journal that a channel holds for clients that join, about 2,000 steps: a page is
behind by what was written while it loaded. A client that is further behind reads the run again."""
FINAL = re.compile(rb'"kind":\s*"final"')


@dataclass
class News:
    """Records that have come since the last look."""

    records: dict[str, list[Record]] = field(default_factory=lambda: {name: [] for name in NAMES})
    snapshots: list[int] = field(default_factory=list)
    restarted: bool = False
    status: Status = "stopped"
    status_changed: bool = False
    num_bytes: dict[str, int] = field(default_factory=dict[str, int])
    """Of each journal, as they were read."""
    is_behind: bool = False
    """Whether there is more to read at once."""

    def __bool__(self) -> bool:
        return self.restarted or self.status_changed or bool(self.snapshots) or any(self.records.values())


class Follower:
    """Journals of one run, and whether it is in progress."""

    def __init__(
        self,
        folder: Path,
        *,
        names: Sequence[str] = NAMES,
        inside: Path | None = None,
        last_bytes: int | None = None,
    ) -> None:
        """`last_bytes`: start that many bytes before the end of each journal; None: at their start."""
        self.run = RunFolder(folder)
        self.names, self.inside, self.last_bytes = names, inside, last_bytes
        self._begin_()

    def _begin_(self) -> None:
        self.tails = {
            name: Tail(self.run.path / f"{name}.jsonl", inside=self.inside, last_bytes=self.last_bytes)
            for name in self.names
        }
        self.seen: set[int] = set()
        self.is_finished: bool | None = None if self.last_bytes is not None else False
        self.status: Status | None = None

    def news(self) -> News:
        """What is new since the last call, at most one block a journal; the first ones give everything."""
        found = News()
        if self.is_finished is None:
            self.is_finished = has_final(self.run.path / "metrics.jsonl", inside=self.inside)
        for name, tail in self.tails.items():
            found.records[name], restarted = tail.read()
            found.restarted |= restarted
            found.is_behind |= tail.is_behind
            found.num_bytes[name] = tail.num_bytes
        if found.restarted:
            self._begin_()
            return News(restarted=True, status=self._status())
        self.is_finished |= any(record.get("kind") == "final" for record in found.records["metrics"])
        steps = snapshot_steps(self.run)
        found.snapshots = sorted(steps - self.seen)
        self.seen |= steps
        found.status = self._status()
        found.status_changed, self.status = found.status != self.status, found.status
        return found

    @property
    def cut(self) -> set[str]:
        """The journals whose earlier records were left out."""
        return {name for name, tail in self.tails.items() if tail.is_cut}

    def _status(self) -> Status:
        if self.run.is_locked:
            return "running"
        return "finished" if self.is_finished else "stopped"


def has_final(path: Path, *, inside: Path | None = None) -> bool:
    """Whether a journal has the record that ends a run. Searched as bytes, without parsing it."""
    block, overlap = 1 << 20, 64
    try:
        with guarded.open_read(path, inside=inside) as file:
            before = b""
            while content := file.read(block):
                if FINAL.search(before + content):
                    return True
                before = content[-overlap:]
    except FileNotFoundError:
        pass
    return False


def snapshot_steps(run: RunFolder) -> set[int]:
    names = (path.stem.removeprefix("step-") for path in run.keys.glob("step-*.safetensors"))
    return {int(name) for name in names if name.isdecimal() and len(name) < 19}


class Recent:
    """The latest records of a run, for clients that join: those of whole looks, the oldest dropped first."""

    def __init__(self) -> None:
        self.looks: dict[str, deque[tuple[list[Record], int]]] = {name: deque() for name in NAMES}
        self.cut: set[str] = set()
        self.snapshots: list[int] = []
        self.status: Status = "stopped"

    def add_(self, news: News, cut: Iterable[str] = ()) -> None:
        """`cut`: journals that were not read from their start."""
        if news.restarted:
            self.__init__()
        self.cut |= set(cut)
        for name, records in news.records.items():
            if records:
                self.looks[name].append((records, news.num_bytes.get(name, 0)))
            while len(self.looks[name]) > 1 and sum(size for _, size in self.looks[name]) > RECENT_BYTES:
                self.looks[name].popleft()
                self.cut.add(name)
        self.snapshots += news.snapshots
        self.status = news.status

    def after(self, step: int) -> News:
        """What is later than a step; `restarted` if that is more than is held."""
        held = {name: [record for look, _ in looks for record in look] for name, looks in self.looks.items()}
        for name in self.cut:
            steps = (at for record in held[name] if isinstance(at := record.get("step"), int))
            if step < next(steps, step):
                return News(restarted=True, status=self.status)
        return News(records=held, snapshots=list(self.snapshots), status=self.status)


def increment(news: News, after: int = -1) -> Increment:
    """New records in the page's form; `after`: the last step that the page has."""

    def later(records: list[Record]) -> list[Record]:
        return [record for record in records if isinstance(step := record.get("step"), int) and step > after]

    metrics, layers = Metrics(), Table()  # which bound what a crafted journal makes of them
    for record in later(news.records["metrics"]):
        metrics.append(record)
    for record in later(news.records["layers"]):
        layers.append(record)
    return Increment(
        kind="restart" if news.restarted else "increment",
        status=news.status,
        curves=journals.curves(metrics, later(news.records["timing"])),
        training=training_series(list(layers)),
        evaluation=evaluation_series(metrics),
        warnings=journals.warnings(metrics),
        new_snapshots=[step for step in news.snapshots if step > after],
        new_samples=len(later(news.records["samples"])),
    )


__all__ = ["Follower", "News", "Recent", "Tail", "increment", "snapshot_steps"]
