"""Follows the journals of a run by their offsets: only new records are read, once for all clients. A journal
that was cut back (by a resumed run) is detected and read again. Each line is verified by its sum; nothing is
given from a damaged line on, and a full read of the run reports the damage."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from somelab.disk import guarded
from somelab.errors import SomelabError
from somelab.runs import RunFolder
from somelab.runs.journal import JournalError, LineReader
from somelab.view.live.messages import Increment
from somelab.view.page import curves as journals
from somelab.view.page.balance import evaluation_series, training_series
from somelab.view.page.curves import Record
from somelab.view.page.status import is_locked
from somelab.view.schema.page import Status

NAMES = ("metrics", "layers", "timing", "samples")


class Tail:
    """The end of one journal. `read` gives the records that are whole and new."""

    def __init__(self, path: Path, *, has_sums: bool | None = None) -> None:
        """`has_sums`: see LineReader."""
        self.path, self.has_sums = path, has_sums
        self._begin_()

    def _begin_(self) -> None:
        self.offset = 0
        self.is_damaged = False
        self._lines = LineReader(self.path, has_sums=self.has_sums)
        self._last = b""
        """The line before the offset: if it has changed, the journal was cut and has grown again."""

    def read(self) -> tuple[list[Record], bool]:
        """New records, and whether the journal has to be taken from its start."""
        try:
            with guarded.open_read(self.path, inside=self.path.parent) as file:
                file.seek(max(0, self.offset - len(self._last)))
                if file.read(len(self._last)) != self._last:
                    self._begin_()
                    return [], True
                content = file.read()
        except FileNotFoundError:
            was_there = self.offset > 0
            self._begin_()
            return [], was_there
        end = content.rfind(b"\n") + 1
        lines = content[:end].splitlines(keepends=True)
        if lines:
            self.offset, self._last = self.offset + end, lines[-1]
        return [record for line in lines if (record := self._record(line)) is not None], False

    def _record(self, line: bytes) -> Record | None:
        """None for a damaged line, and after one for all others that have sums."""
        if self.is_damaged and self._lines.has_sums:
            return None
        try:
            return self._lines.record(line)
        except JournalError:
            self.is_damaged = True
            return None


@dataclass
class News:
    """Records that have come since the last look."""

    records: dict[str, list[Record]] = field(default_factory=lambda: {name: [] for name in NAMES})
    snapshots: list[int] = field(default_factory=list)
    restarted: bool = False
    status: Status = "stopped"
    status_changed: bool = False

    def __bool__(self) -> bool:
        return self.restarted or self.status_changed or bool(self.snapshots) or any(self.records.values())


class Follower:
    """All journals of one run, and whether it is in progress."""

    def __init__(self, folder: Path) -> None:
        self.run = RunFolder(folder)
        self._begin_()

    def _begin_(self) -> None:
        try:
            has_sums = self.run.has_sums
        except SomelabError:
            has_sums = None  # a full read of the run reports its run.json
        self.tails = {name: Tail(self.run.path / f"{name}.jsonl", has_sums=has_sums) for name in NAMES}
        self.seen: set[int] = set()
        self.is_finished = False
        self.status: Status | None = None

    def news(self) -> News:
        """What is new since the last call; the first one gives everything."""
        found = News()
        for name, tail in self.tails.items():
            found.records[name], restarted = tail.read()
            found.restarted |= restarted
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

    def _status(self) -> Status:
        if is_locked(self.run):
            return "running"
        return "finished" if self.is_finished else "stopped"


def snapshot_steps(run: RunFolder) -> set[int]:
    names = (path.stem.removeprefix("step-") for path in run.keys.glob("step-*.safetensors"))
    return {int(name) for name in names if name.isdecimal()}


def increment(news: News, after: int = -1) -> Increment:
    """New records in the page's form; `after`: the last step that the page has."""

    def later(records: list[Record]) -> list[Record]:
        return [record for record in records if isinstance(step := record.get("step"), int) and step > after]

    metrics, layers = later(news.records["metrics"]), later(news.records["layers"])
    return Increment(
        kind="restart" if news.restarted else "increment",
        status=news.status,
        curves=journals.curves(metrics, later(news.records["timing"])),
        training=training_series(layers),
        evaluation=evaluation_series(metrics),
        warnings=journals.warnings(metrics),
        new_snapshots=[step for step in news.snapshots if step > after],
        new_samples=len(later(news.records["samples"])),
    )
