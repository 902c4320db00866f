"""The result of a benchmark: rows of a table, ratios, and the figures that are compared with the bars. A
ratio is always other time / our time: 2 means that ours takes half as long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from somelab.bench.measuring import Measured, Timing

OURS = "ours"


@dataclass(frozen=True)
class Row:
    """One contender in one case."""

    case: str
    contender: str
    kind: str
    """ours | engine | int8 | hadamard | notebook | dense | peer | machine | other | part (of a step: no
    ratio)"""
    median: float | None = None
    low: float | None = None
    """First quartile."""
    high: float | None = None
    """Third quartile."""
    unit: str = "s"
    """s | bytes | GFLOP/s"""
    repetitions: int = 0
    ratio: float | None = None
    """Its time / our time in the same case."""
    note: str = ""
    """Differences from ours, if any."""
    problem: str | None = None
    """Why there is no number."""
    details: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """A benchmark's outcome."""

    bench: str
    title: str
    settings: dict[str, Any]
    rows: list[Row]
    ratios: dict[str, float | str | None] = field(default_factory=dict)
    """Other time / our time, unless a key says otherwise."""
    figures: dict[str, float | None] = field(default_factory=dict)
    """Shares and sizes, which are no ratios of times."""
    notes: list[str] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)

    def value(self, key: str) -> float | None:
        """A ratio or figure by its key; None if it was not measured."""
        value = {**self.ratios, **self.figures}.get(key)
        return value if isinstance(value, float | int) else None


def timed_row(
    case: str,
    contender: str,
    kind: str,
    timing: Timing,
    *,
    note: str = "",
    details: dict[str, float] | None = None,
) -> Row:
    """A row from a timing; its ratio is added when all rows of the case are known."""
    low, high = timing.quartiles
    return Row(
        case,
        contender,
        kind,
        timing.median,
        low,
        high,
        repetitions=len(timing.seconds),
        note=note,
        details=details or {},
    )


def with_ratios(rows: Iterable[Row]) -> list[Row]:
    """Fill in every row's ratio to the row `ours` of its case."""
    rows = list(rows)
    ours = {row.case: row.median for row in rows if row.kind == OURS}
    compared = [row.unit == "s" and row.kind != "part" for row in rows]
    return [
        replace(row, ratio=ratio(row.median, ours.get(row.case))) if is_so else row
        for row, is_so in zip(rows, compared)
    ]


def ratio(other: float | None, ours: float | None) -> float | None:
    """other / ours; None if one of them is missing."""
    return other / ours if other is not None and ours else None


def find(rows: Iterable[Row], case: str, contender: str) -> Row | None:
    return next((row for row in rows if (row.case, row.contender) == (case, contender)), None)


def fastest(rows: Iterable[Row], case: str, kind: str) -> Row | None:
    """The quickest row of a kind in a case; None if none has a number."""
    timed = [row for row in rows if (row.case, row.kind) == (case, kind) and row.median is not None]
    return min(timed, key=lambda row: row.median or 0.0, default=None)


def rows_of(
    case: str,
    measured: Measured,
    kinds: dict[str, str],
    notes: dict[str, str] | None = None,
    details: dict[str, dict[str, float]] | None = None,
) -> list[Row]:
    """A row for every contender, in the order of `kinds`, measured or not."""
    notes, details = notes or {}, details or {}
    rows = list[Row]()
    for name, kind in kinds.items():
        note, more = notes.get(name, ""), details.get(name, {})
        if name in measured.timings:
            rows.append(timed_row(case, name, kind, measured.timings[name], note=note, details=more))
        elif name in measured.problems:
            rows.append(Row(case, name, kind, note=note, problem=measured.problems[name]))
    return rows
