"""How much the hard suite tries: everything by default, a share of it with SOMELAB_HARD=0.02, and what came
out as a table."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

VARIABLE = "SOMELAB_HARD"
SHARE = float(os.environ.get(VARIABLE, "1"))
SEED = int(os.environ.get("SOMELAB_HARD_SEED", "0"))
"""Chooses other inputs, kills and damages than the usual ones."""
PROPERTY = "tally"
LONGEST = 5.0
"""Seconds in which every input is answered."""

Outcome = Mapping[str, int | float]


def amount(full: int, least: int = 1) -> int:
    """How many of `full` tries are made."""
    return max(least, round(full * SHARE))


class Tally:
    """Tries by kind, and what came out of them. Counts (int) of several tests add up; of measures (float) the
    largest stays."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, dict[str, int | float]]] = {}

    def add_(self, what: str, number: int, outcome: Outcome) -> None:
        before, merged = self.rows.get(what, (0, {}))
        for name, value in outcome.items():
            known = merged.get(name, 0)
            merged[name] = max(float(known), value) if isinstance(value, float) else known + value
        self.rows[what] = before + number, merged

    def read_(self, properties: Iterable[tuple[str, object]]) -> None:
        """The properties of a test report: these come from other processes, too."""
        for name, value in properties:
            if name == PROPERTY:
                self.add_(*json.loads(str(value)))

    def lines(self) -> list[str]:
        """A table in Markdown."""
        rows = [
            f"| {what} | {number:,} | {', '.join(_words(*one) for one in outcome.items())} |"
            for what, (number, outcome) in self.rows.items()
        ]
        return ["| what is tried | tries | what came out |", "|---|---:|---|", *rows]


def _words(name: str, value: float) -> str:
    return f"{name} {value:.3g}" if isinstance(value, float) else f"{value:,} {name}"
