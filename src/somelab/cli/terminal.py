"""Tables and text for people: as wide as the terminal, also where the output goes through a pipe to `head` or
`less`. Without a terminal lines are not wrapped, unless COLUMNS gives a width."""

from __future__ import annotations

import json
import os
import stat
import sys
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 1000
LEAST_WIDTH = 20


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `main`, which exits without an error; rich would exit with 1."""
        raise BrokenPipeError


def console() -> Console:
    """Where tables are printed. Markup and highlighting are off."""
    width = None if sys.stdout.isatty() else pipe_width()
    return _Console(width=width, markup=False, highlight=False, emoji=False)


def pipe_width() -> int:
    """The width of output that goes to a file or a pipe: COLUMNS; else that of the terminal where errors
    appear, if the output is a pipe; else no limit in practice."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) >= LEAST_WIDTH:
        return int(given)
    try:
        if stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode):
            return max(LEAST_WIDTH, os.get_terminal_size(sys.stderr.fileno()).columns)
    except (OSError, ValueError, AttributeError):  # no terminal, or an output without a file
        pass
    return PIPE_WIDTH


def is_narrow() -> bool:
    """Whether the output is as wide as a terminal, so that long cells have to be wrapped."""
    return sys.stdout.isatty() or pipe_width() < PIPE_WIDTH


def say(text: str, style: str = "") -> None:
    """Print sentences, wrapped between words where the width is limited. Lines after the first keep the
    indentation of the first."""
    out = console()
    for line in text.split("\n"):
        margin = len(line) - len(line.lstrip(" "))
        sentence = Text(line.lstrip(" "), style=style)
        out.print(Padding(sentence, (0, 0, 0, margin), expand=False) if sentence else "")


def table(*columns: str, numbers: tuple[str, ...] = (), wrapped: tuple[str, ...] = ()) -> Table:
    """An empty table; columns of numbers are right-aligned, and only `wrapped` columns may take several
    lines."""
    made = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        overflow = "fold" if name in wrapped else "ellipsis"  # a number must not be cut without a mark
        made.add_column(
            name,
            justify="right" if name in numbers else "left",
            no_wrap=name not in wrapped,
            overflow=overflow,
        )
    return made


def headings(name: str, meaning: str) -> tuple[str, ...]:
    """The columns that `entry` fills; both may be wrapped."""
    return (name,) if is_narrow() else (name, meaning)


def entry(name: str, meaning: str) -> tuple[str | Text, ...]:
    """A name and its meaning: stacked in a terminal, which is narrow, else side by side."""
    return (Text.assemble(name, (f"\n{meaning}", "dim")),) if is_narrow() else (name, meaning)


def title(words: str) -> Text:
    """The heading of the rows that follow in a table."""
    return Text(f"\n{words}", "bold")


def print_json(value: Any) -> None:
    """A value for programs to read."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
