"""The scenes of the dialogues: who talks, where, and the lines in order, each one of several ways to say it.
Speaker `a` has a name, `b` a trade or a name; what one of them says is asked, repeated and settled by the other."""

from __future__ import annotations

from typing import NamedTuple

Line = tuple[str, tuple[str, ...]]


class Scene(NamedTuple):
    other: str
    """Who speaker `b` is: `the waiter`, or `friend` for someone with a name."""
    settings: tuple[str, ...]
    lines: tuple[Line, ...]
    endings: tuple[str, ...]
    facts: tuple[str, ...]
    """Names in the cast that the lines introduce and the end needs."""
