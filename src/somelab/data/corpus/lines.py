"""The data files of the corpus as lines: a header at the margin, what belongs to it indented below.
A line that is indented deeper than the one before goes on with it; # begins a comment."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


class GrammarError(Exception):
    """A syntax error in a data file: a fault of the corpus, not of its user."""


@dataclass
class Line:
    """A line with its continuations, and the lines of the block that it opens."""

    file: str
    number: int
    text: str
    indent: int
    after_gap: bool
    """Whether an empty line stands before it."""
    children: list[Line] = field(default_factory=list)

    @property
    def opens_block(self) -> bool:
        return not self.indent or (self.text.endswith(":") and not self.text.startswith("-"))

    @property
    def where(self) -> str:
        return f"{self.file}:{self.number}"

    def error(self, problem: str) -> GrammarError:
        return GrammarError(f"{self.where}: {problem}: {self.text}")


def read_lines(folder: Path) -> list[Line]:
    """The headers of all files, each with its block."""
    headers: list[Line] = []
    for path in sorted(folder.glob("*.txt")):
        outer: list[Line] = []
        after_gap = False
        for number, raw in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            text = raw.strip()
            if text.startswith("#"):
                continue
            line = Line(path.name, number, text, len(raw) - len(raw.lstrip()), after_gap)
            after_gap = not text
            if not text:
                continue
            while outer and line.indent <= outer[-1].indent:
                outer.pop()
            if outer and not outer[-1].opens_block:
                outer[-1].text += f" {text}"
                continue
            if line.indent and not outer:
                raise line.error("an indented line without a header")
            (outer[-1].children if outer else headers).append(line)
            outer.append(line)
    return headers
