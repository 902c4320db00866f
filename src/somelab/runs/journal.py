"""A journal: one JSON object per line, append-only. The record of a run; every view reads it.

Each line ends with the key "sum": twelve digits of a digest over the sum of the line before and the rest of
this line, so that a changed, lost, repeated or moved line is detected. Journals of earlier versions have no
sums; a journal has them from its first line or not at all. A resumed run first cuts its journals back to the
length they had at the checkpoint, so that repeated steps are recorded once."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from somelab.disk import guarded
from somelab.disk.atomic import explained
from somelab.disk.checked_json import loads
from somelab.disk.old_names import with_new_names
from somelab.errors import SomelabError

LONGEST_LINE = 64 << 20
"""Bytes of a line; a longer one is damage, and is not read into memory."""
SUM_BYTES = 6
SUM = re.compile(rb',?"sum":"([0-9a-f]{12})"\}\Z')


class JournalError(SomelabError):
    """A damaged journal."""


class ShortJournal(JournalError):
    """A journal that has lost records at its end."""


def sum_of(before: bytes, body: bytes) -> bytes:
    """The sum of a line. `before`: that of the line before, empty for the first; `body`: the object without
    its sum."""
    return hashlib.blake2b(before + body, digest_size=SUM_BYTES).hexdigest().encode()


class LineReader:
    """Verifies and parses the lines of one journal, in their order. Its state is the last sum, so that lines
    which come later can be verified without reading the earlier ones again."""

    def __init__(self, path: Path, *, has_sums: bool | None = None, in_middle: bool = False) -> None:
        """`has_sums`: whether the journal must have sums, or must not; None: as its first line has it.
        `in_middle`: the first line is not that of the journal, so that its own sum cannot be verified."""
        self.path, self.has_sums = path, has_sums
        self.number = 0
        self.last_sum: bytes | None = None if in_middle else b""

    def record(self, line: bytes) -> dict[str, Any]:
        """The record of the next line, its end included. Raises JournalError; what follows cannot be verified
        then."""
        body = self.verified(line)
        try:
            found = loads(with_new_names(body.decode()))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self._damage()
        return found

    def verified(self, line: bytes) -> bytes:
        """The next line without its end and its sum."""
        self.number += 1
        content = line.removesuffix(b"\n")
        found = SUM.search(content)
        if self.has_sums is None:
            self.has_sums = found is not None
        if (found is not None) != self.has_sums or content == line:
            raise self._damage()
        if found is None:
            return content
        body = content[: found.start()] + b"}"
        if self.last_sum is not None and found[1] != sum_of(self.last_sum, body):
            raise self._damage()
        self.last_sum = found[1]
        return body

    def _damage(self) -> JournalError:
        return JournalError(f"{self.path}: line {self.number} is damaged; restore the file")


class Journal:
    """Appends records; each reaches the file whole, in one write."""

    def __init__(self, path: Path, *, has_sums: bool | None = None) -> None:
        """`has_sums`: see LineReader; a new journal has them unless this is False. The file is never opened
        through a link, and opening it changes nothing."""
        self.path, self._has_sums = path, has_sums
        self._reader: LineReader | None = None
        with explained(path):
            self._file = guarded.open_append(path, inside=path.parent)

    def append(self, record: dict[str, Any]) -> None:
        if self._reader is None:
            self._reader = self._read_to(os.fstat(self._file.fileno()).st_size)
        body = json.dumps(record, separators=(",", ":"), allow_nan=True).encode()
        with explained(self.path):
            self._file.write(self._with_sum(self._reader, body) + b"\n")
            self._file.flush()

    def length(self) -> int:
        """Bytes written so far, flushed to the disk; a checkpoint stores this."""
        with explained(self.path):
            os.fsync(self._file.fileno())
        return self._file.tell()

    def cut(self, length: int) -> None:
        """Cut everything after `length` bytes, once what stays is verified. A journal that is shorter has
        lost records, which is an error."""
        self._reader = self._read_to(length)
        with explained(self.path):
            self._file.truncate(length)
            self._file.seek(0, os.SEEK_END)

    def close(self) -> None:
        self._file.close()

    @staticmethod
    def _with_sum(reader: LineReader, body: bytes) -> bytes:
        if reader.has_sums is False:
            return body
        reader.has_sums, reader.last_sum = True, sum_of(reader.last_sum or b"", body)
        comma = b"," if body != b"{}" else b""
        return body[:-1] + comma + b'"sum":"' + reader.last_sum + b'"}'

    def _read_to(self, length: int) -> LineReader:
        """A reader after the lines of the first `length` bytes."""
        reader = LineReader(self.path, has_sums=self._has_sums)
        with explained(self.path):
            if (found := os.fstat(self._file.fileno()).st_size) < length:
                raise ShortJournal(
                    f"{self.path}: has {found:,} of the {length:,} bytes that were written; restore the file"
                )
            with guarded.open_read(self.path, inside=self.path.parent) as file:
                while file.tell() < length:
                    reader.record(file.readline(min(LONGEST_LINE, length - file.tell())))
        return reader


def read(path: Path, *, has_sums: bool | None = None, at_least: int = 0) -> Iterator[dict[str, Any]]:
    """The records of a journal. An incomplete last line, left by a kill, is skipped.

    `at_least`: bytes that are known to have been written in whole lines; raises ShortJournal for fewer."""
    reader, end = LineReader(path, has_sums=has_sums), 0
    try:
        with guarded.open_read(path, inside=path.parent) as file:
            while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
                yield reader.record(line)
                end += len(line)
            if len(line) == LONGEST_LINE:
                raise JournalError(f"{path}: line {reader.number + 1} is damaged; restore the file")
    except FileNotFoundError:
        pass  # nothing has been recorded yet
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error.strerror or error})") from None
    if end < at_least:
        raise ShortJournal(
            f"{path}: has {end:,} of the {at_least:,} bytes that were written in whole lines; restore the "
            "file"
        )
