"""A file of text as a stream of documents: .txt, .jsonl and .parquet, read from front to back in bounded
memory. A file that cannot be read gives one line with the file and the position."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from somelab.data.tokenizer import END_OF_TEXT
from somelab.disk import guarded
from somelab.errors import ConfigError, SomelabError, nearest, reading_problem

SEPARATOR = END_OF_TEXT.encode()
SEPARATOR_LINE = re.compile(rb"[ \t]*" + re.escape(SEPARATOR) + rb"[ \t\r]*\n?")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Text without separators is cut at the first blank line behind this many bytes, or at the first line end
# behind twice as many: long enough to fill a context. A small file is cut finer, so that some of its
# documents can be held out.
BYTES_PER_DOCUMENT = 2000
DOCUMENTS_PER_FILE = 40
ROWS_PER_BLOCK = 1000
LARGEST_DOCUMENT = 16 << 20
"""Bytes. A longer document of a .txt file is divided, between two characters, so that a file of one endless
line is read in bounded memory."""
LARGEST_ROW = 64 << 20
"""Bytes of a line of a .jsonl file, which cannot be divided."""
MOST_COLUMNS = 50
"""Of a row, that a message lists."""


def read_documents(path: Path, column: str) -> Iterator[str]:
    """The documents of one file in their order; empty ones are left out. `column` holds the text of .jsonl
    and .parquet."""
    return (text for text in READERS[path.suffix.lower()](path, column) if text.strip())


@contextmanager
def readable(path: Path) -> Generator[BinaryIO]:
    """The open file, a regular one: a FIFO or a device would never end. An OSError becomes one line."""
    try:
        with guarded.open_read(path) as file:
            yield file
    except guarded.GuardError as error:
        problem = str(error).removeprefix(f"{path}: ")
        raise ConfigError("data.source", str(path), problem, "give a file of text") from None
    except OSError as error:
        problem = reading_problem(error)
        raise ConfigError(
            "data.source", str(path), problem, "give a file that exists and may be read"
        ) from None


def _read_text(path: Path, column: str) -> Iterator[str]:
    """Documents between lines `<|endoftext|>`; without any such line, runs of paragraphs of about 2,000
    bytes."""
    with readable(path) as file:
        size = os.fstat(file.fileno()).st_size
        separated = any(
            begins and SEPARATOR in line and SEPARATOR_LINE.fullmatch(line) for line, begins in _lines(file)
        )
        file.seek(0)
        start = len(BYTE_ORDER_MARK) if file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK else 0
        file.seek(start)
        pieces = _between_separators(file) if separated else _runs_of_paragraphs(file, size)
        for piece, num_bytes in pieces:
            yield _decoded(piece, path, start).strip("\r\n")
            start += num_bytes


def _between_separators(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Each document, and its size in the file including the separator line."""
    lines: list[bytes] = []
    num_bytes = 0
    for line, begins in _lines(file):
        if begins and line.strip() == SEPARATOR:
            yield b"".join(lines), num_bytes + len(line)
            lines, num_bytes = [], 0
            continue
        if num_bytes + len(line) > LARGEST_DOCUMENT:
            yield b"".join(lines), num_bytes
            lines, num_bytes = [], 0
        lines.append(line)
        num_bytes += len(line)
    yield b"".join(lines), 0


def _runs_of_paragraphs(file: BinaryIO, size: int) -> Iterator[tuple[bytes, int]]:
    """The same for text without separators."""
    enough = min(BYTES_PER_DOCUMENT, size // DOCUMENTS_PER_FILE)
    lines: list[bytes] = []
    num_bytes = 0
    for line, _ in _lines(file):
        lines.append(line)
        num_bytes += len(line)
        if num_bytes >= 2 * enough or (num_bytes >= enough and not line.strip()):
            yield b"".join(lines), num_bytes
            lines, num_bytes = [], 0
    yield b"".join(lines), 0


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """The lines, their ends included. One longer than the largest document comes in pieces that end between
    characters; all but the first are marked False: they begin no line."""
    rest, begins = b"", True
    while piece := rest + file.readline(LARGEST_DOCUMENT - len(rest)):
        ends = piece.endswith(b"\n")
        cut = len(piece) if ends or len(piece) < LARGEST_DOCUMENT else _end_of_character(piece)
        rest = piece[cut:]
        yield piece[:cut], begins
        begins = ends


def _end_of_character(piece: bytes) -> int:
    """Where the last whole UTF-8 character ends: at most three bytes before the end."""
    for back in range(1, 4):
        byte = piece[-back]
        if byte >= 0xC0:  # the first byte of a character of two to four
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return len(piece) - back if length > back else len(piece)
        if byte < 0x80:
            break
    return len(piece)


def _decoded(content: bytes, path: Path, start: int) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            "data.source",
            str(path),
            f"is not UTF-8 text (byte {start + error.start})",
            "save it as UTF-8, or remove that byte",
        ) from None


def _read_jsonl(path: Path, column: str) -> Iterator[str]:
    """The text column of each line; null counts as empty."""
    with readable(path) as file:
        start = 0
        for number, line in enumerate(iter(lambda: file.readline(LARGEST_ROW + 1), b""), 1):
            if len(line) > LARGEST_ROW:
                problem = f"line {number} has more than {LARGEST_ROW:,} bytes"
                raise ConfigError("data.source", str(path), problem, "write one document per line")
            content = _decoded(line, path, start).removeprefix("\ufeff").strip()
            start += len(line)
            if content:
                yield _text_of_row(content, path, column, number)


def _text_of_row(content: str, path: Path, column: str, number: int) -> str:
    def refused(problem: str) -> ConfigError:
        return ConfigError(
            "data.source", str(path), f"line {number} {problem}", "correct or remove that line"
        )

    try:
        row = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise refused(f"is not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(row, dict):
        raise refused("is not a JSON object")
    row = cast(dict[str, Any], row)
    if column not in row:
        raise _no_such_column(column, f"line {number} of {path}", list(row))
    text = "" if row[column] is None else row[column]
    if not isinstance(text, str):
        raise refused(f"has no text in column {column}, but {type(text).__name__}")
    if not _is_unicode(text):  # JSON can write half of a surrogate pair, UTF-8 cannot
        raise refused("holds half of a surrogate pair, which is not text")
    return text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_such_column(column: str, place: str, known: list[str]) -> ConfigError:
    known = [name for name in known[:MOST_COLUMNS] if len(name) <= 100]
    remedy = nearest(column, known) if known else "it has no columns at all"
    return ConfigError("data.text_column", column, f"{place} has no such column", remedy)


def _read_parquet(path: Path, column: str) -> Iterator[str]:
    """The text column of each row; null counts as empty."""
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        import pyarrow.parquet as parquet  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise SomelabError(
            f"reading {path.name} needs pyarrow; run `pip install 'somelab[data]'`, or give a .jsonl file"
        ) from None
    with readable(path) as file:
        try:
            table = cast(Any, parquet.ParquetFile(file))
            kinds = {field.name: field.type for field in table.schema_arrow}
            if column not in kinds:
                raise _no_such_column(column, str(path), list(kinds))
            if str(kinds[column]) not in ("string", "large_string", "string_view"):
                raise ConfigError(
                    "data.text_column",
                    column,
                    f"{path} holds {kinds[column]} in it, not text",
                    f"choose one of {', '.join(kinds)}",
                )
            for block in table.iter_batches(batch_size=ROWS_PER_BLOCK, columns=[column]):
                yield from (text or "" for text in block.column(0).to_pylist())
        except (pyarrow.ArrowException, UnicodeDecodeError) as error:
            problem = f"is not a valid Parquet file ({str(error).splitlines()[0]})"
            raise ConfigError(
                "data.source", str(path), problem, "write it again, or give a .jsonl file"
            ) from None


READERS: dict[str, Callable[[Path, str], Iterator[str]]] = {
    ".txt": _read_text,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
}
