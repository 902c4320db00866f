"""A journal: one JSON object per line, append-only. The record of a run; every view reads it.

A resumed run first cuts its journals back to the length they had at the checkpoint, so that repeated steps
are recorded once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from somelab.disk.atomic import explained
from somelab.disk.old_names import with_new_names
from somelab.errors import SomelabError


class JournalError(SomelabError):
    """A damaged journal."""


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
        """Bytes written so far, flushed to the disk; a checkpoint stores this."""
        with explained(self.path):
            os.fsync(self._file.fileno())
        return self._file.tell()

    def cut(self, length: int) -> None:
        """Cut everything after `length` bytes. A journal that is shorter has lost records, which is an
        error."""
        if (found := os.fstat(self._file.fileno()).st_size) < length:
            raise JournalError(
                f"{self.path}: has {found:,} of the {length:,} bytes that were written; restore the file"
            )
        with explained(self.path):
            self._file.truncate(length)
            self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        self._file.close()


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a journal. An incomplete last line, left by a kill, is skipped."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield json.loads(with_new_names(line.decode()))
            except ValueError:
                raise JournalError(f"{path}: line {number} is damaged; restore the file") from None
