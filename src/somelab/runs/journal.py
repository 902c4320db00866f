"""A journal: one JSON object a line, only ever appended to. The truth of a run; every view reads it.

A resumed run first cuts its journals back to the length they had at the checkpoint, so that what was done twice is told once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from somelab.disk.atomic import explained
from somelab.errors import SomelabError


class JournalError(SomelabError):
    """A journal that is not what was written."""


class Journal:
    """Appends records; each reaches the file whole, in one write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with explained(path):
            self._file = path.open("ab")

    def append(self, record: dict[str, Any]) -> None:
        with explained(self.path):
            self._file.write(json.dumps(record, separators=(",", ":"), allow_nan=True).encode() + b"\n")
            self._file.flush()

    def length(self) -> int:
        """Bytes written so far, made safe against a power cut: what a checkpoint notes down."""
        with explained(self.path):
            os.fsync(self._file.fileno())
        return self._file.tell()

    def cut(self, length: int) -> None:
        """Forget everything after `length` bytes. A journal that is shorter has lost records, and must not be filled up."""
        if (found := os.fstat(self._file.fileno()).st_size) < length:
            raise JournalError(f"{self.path}: has {found:,} of the {length:,} bytes that were written; restore the file")
        with explained(self.path):
            self._file.truncate(length)
            self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        self._file.close()


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a journal. A last line that a kill cut short is passed over."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(line)
            except ValueError:
                raise JournalError(f"{path}: line {number} is damaged; restore the file") from None
