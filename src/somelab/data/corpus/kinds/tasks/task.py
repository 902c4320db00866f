"""The tasks of the how-to texts: what each needs and its steps, of which each is one pattern out of a tuple.

The cast of a task is drawn anew for every text: `bag colour` a word of a bag, `thing toy` a thing with looks,
`measure minute 5 30` an amount, `count 2 5` a number, `place` a place. Needs are listed first and come back in the steps."""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    title: str
    cast: dict[str, str]
    needs: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    tips: tuple[str, ...]
