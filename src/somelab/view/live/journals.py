"""Follows the journals of a run by their offsets: only new records are read, once for all clients. A journal
that was cut back (by a resumed run) is detected and read again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from somelab.disk.old_names import with_new_names
from somelab.runs import RunFolder
from somelab.view.live.messages import Increment
from somelab.view.page import curves as journals
from somelab.view.page.balance import evaluation_series, training_series
from somelab.view.page.curves import Record
from somelab.view.page.status import is_locked
from somelab.view.schema.page import Status

NAMES = ("metrics", "layers", "timing", "samples")


class Tail:
    """The end of one journal. `read` gives the records that are whole and new."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self._last = b""
        """The line before the offset: if it has changed, the journal was cut and has grown again."""

    def read(self) -> tuple[list[Record], bool]:
        """New records, and whether the journal has to be taken from its start."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(0, self.offset - len(self._last)))
                if file.read(len(self._last)) != self._last:
                    self.offset, self._last = 0, b""
                    return [], True
                content = file.read()
        except FileNotFoundError:
            was_there, self.offset, self._last = self.offset > 0, 0, b""
            return [], was_there
        end = content.rfind(b"\n") + 1
        lines = content[:end].splitlines(keepends=True)
        if lines:
            self.offset, self._last = self.offset + end, lines[-1]
        return [record for line in lines if isinstance(record := _parsed(line), dict)], False


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(with_new_names(line.decode()))
    except ValueError:
        return None  # a damaged line: a full read of the run reports it


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
        self.tails = {name: Tail(self.run.path / f"{name}.jsonl") for name in NAMES}
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
