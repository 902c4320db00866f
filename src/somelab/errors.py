"""Errors that a person can act on: each names the field, the value and the remedy, in one line. The command
prints the line and exits with 2; a traceback appears for somelab's own faults only."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from difflib import get_close_matches


class SomelabError(Exception):
    """Anything a user can put right. `str(error)` is one line."""


class ConfigError(SomelabError):
    """A setting that cannot work."""

    def __init__(self, field: str, value: object, problem: str, remedy: str) -> None:
        self.field, self.value, self.problem, self.remedy = field, value, problem, remedy
        super().__init__(f"{field} = {_shown(value)}: {problem}; {remedy}")


def _shown(value: object) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):  # a number of more digits than Python prints
        return "a number too large to show"


def reading_problem(error: OSError) -> str:
    """Why a file could not be read, as the problem of a ConfigError."""
    return (
        "there is no such file"
        if isinstance(error, FileNotFoundError)
        else f"cannot be read ({error.strerror})"
    )


def nearest(word: str, known: Iterable[str]) -> str:
    """The remedy for a misspelt word: the closest known one, or how to see them all."""
    known = sorted(known)
    if not known:
        return "none is known here"
    close = get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"


def notice(line: str) -> None:
    """One line on stderr about damage that was put right, such as a checkpoint in place of a damaged one."""
    print(f"note: {' '.join(line.split())}", file=sys.stderr, flush=True)
