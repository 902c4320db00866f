"""Tables and text for people: as wide as the terminal. Where the output goes to a file or a pipe, lines are
not wrapped unless COLUMNS gives a width."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
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
    """The width of output that goes to a file or a pipe: COLUMNS, or no limit in practice."""
    given = os.environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() and int(given) >= LEAST_WIDTH else PIPE_WIDTH


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
    return (name,) if sys.stdout.isatty() else (name, meaning)


def entry(name: str, meaning: str) -> tuple[str | Text, ...]:
    """A name and its meaning: stacked in a terminal, which is narrow, else side by side."""
    return (Text.assemble(name, (f"\n{meaning}", "dim")),) if sys.stdout.isatty() else (name, meaning)


def print_json(value: Any) -> None:
    """A value for programs to read."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
