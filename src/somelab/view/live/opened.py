"""Runs that clients have open: their journals are held in compact form and only read on, so that showing a
long run again costs little. The latest used ones are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path

from somelab.view.live.table import Entry
from somelab.view.page.payload import run_of
from somelab.view.page.records import RunRecords
from somelab.view.schema.page import Run

MOST_KEPT = 8
"""Runs. One of a million steps takes about 60 MB."""


class OpenedRuns:
    """Thread-safe; each run is read by one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Path, tuple[threading.Lock, RunRecords]] = OrderedDict()

    def run(self, entry: Entry) -> Run:
        with self._lock:
            made = (threading.Lock(), RunRecords(entry.path, inside=entry.root))
            lock, records = self._kept.setdefault(entry.path, made)
            self._kept.move_to_end(entry.path)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        with lock:
            found = run_of(entry.path, entry.id, inside=entry.root, records=records)
        if found.problem is not None:
            # What was read so far may be half of something: begin again, the file may be restored meanwhile.
            with self._lock:
                self._kept.pop(entry.path, None)
        return found
