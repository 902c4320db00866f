"""A journal that is read piece by piece: whole lines, in blocks of bounded size, from where the last look
ended. Memory does not grow with the file, whoever wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from somelab.disk import guarded
from somelab.runs.journal import JournalError, LineReader

BLOCK = 2 << 20
"""Bytes of one look. A longer line cannot be a record: training writes some kilobytes, and a parsed block
takes about ten times its size in memory."""

Record = dict[str, Any]


def parsed(lines: LineReader, line: bytes) -> Record:
    """One line of a journal, verified. JournalError for a damaged one."""
    return lines.record(line)


class Tail:
    """One journal. `read` gives the records that are whole and new, and passes over damaged lines. Where
    lines have sums, those after a damaged one cannot be verified, and are passed over too."""

    def __init__(self, path: Path, *, inside: Path | None = None, last_bytes: int | None = None) -> None:
        """`last_bytes`: start that many bytes before the end; None: at the start."""
        self.path, self.inside = path, inside
        self.offset = 0
        self.is_behind = False
        """Whether there was more than one block to read."""
        self.num_bytes = 0
        """Of the last look."""
        self.num_lines = 0
        self.problem: str | None = None
        """The first damaged line."""
        self.is_cut = False
        """Whether earlier records were left out, by `last_bytes`."""
        self._last_bytes = last_bytes
        self._last = b""
        """The line before the offset: if it has changed, the journal was cut and has grown again."""
        self._in_long_line = False
        self._lines = LineReader(path)

    def read(self) -> tuple[list[Record], bool]:
        """New records of at most one block, and whether the journal has to be taken from its start."""
        self.is_behind = False
        try:
            with guarded.open_read(self.path, inside=self.inside) as file:
                if self._last_bytes is not None:
                    self._skip_(file, self._last_bytes)
                file.seek(max(0, self.offset - len(self._last)))
                if file.read(len(self._last)) != self._last:
                    self._begin_()
                    return [], True
                content = file.read(BLOCK)
        except FileNotFoundError:
            was_there = self.offset > 0
            self._begin_()
            return [], was_there
        self.is_behind, self.num_bytes = len(content) == BLOCK, len(content)
        return self._records(content), False

    def _begin_(self) -> None:
        self.offset, self._last, self.num_lines, self.problem = 0, b"", 0, None
        self._in_long_line = self.is_cut = False
        self._lines = LineReader(self.path)

    def _skip_(self, file: BinaryIO, last_bytes: int) -> None:
        """Start at the first whole line of the last bytes."""
        self._last_bytes = None
        size = file.seek(0, 2)
        if size > last_bytes:
            # One byte more, so that a line which begins exactly there is not left out.
            file.seek(size - last_bytes - 1)
            file.readline(BLOCK)
            self.offset, self.is_cut = file.tell(), True
            self._lines = LineReader(self.path, in_middle=True)

    def _records(self, content: bytes) -> list[Record]:
        if self._in_long_line:
            start = content.find(b"\n") + 1
            self.offset += start or len(content)
            self._in_long_line = not start
            content = content[start:] if start else b""
        end = content.rfind(b"\n") + 1
        if not end and len(content) >= BLOCK:
            self._note_(self.num_lines + 1, f"has more than {BLOCK:,} bytes")
            self.num_lines, self._in_long_line = self.num_lines + 1, True
            # The journal was read to here, but no line ended: there is none to recognise it by.
            self.offset, self._last = self.offset + len(content), b""
            return []
        # By line feeds alone: `splitlines` would also end a line at a carriage return.
        lines = [line + b"\n" for line in content[: end - 1].split(b"\n")] if end else []
        found: list[Record] = []
        for line in lines:
            self.num_lines += 1
            if self.problem is not None and self._lines.has_sums:
                continue
            try:
                found.append(parsed(self._lines, line))
            except JournalError:
                self._note_(self.num_lines, "is damaged")
        if lines:
            self.offset, self._last = self.offset + end, lines[-1]
        return found

    def _note_(self, number: int, what: str) -> None:
        # A line number that counts from the middle of a file would mislead.
        where = "a line" if self.is_cut else f"line {number}"
        self.problem = self.problem or f"{self.path} cannot be read: {where} {what}; restore the file"
