"""The results of a continual study as one summary, and that as Markdown, CSV and JSON for other programs to
plot."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from somelab.adapt.continual.learners import LEARNERS
from somelab.adapt.domain_shift.study import described
from somelab.analysis.intervals import interval

MEASURES = (
    "average_loss",
    "forgetting",
    "final_forgetting",
    "backward_transfer",
    "forward_transfer",
    "online_loss",
)


def summarise(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Per learner, in order of appearance: each measure with its interval over seeds, the mean matrix, the
    online curve."""
    names = list(dict.fromkeys(result["learner"] for result in results))
    learners: dict[str, Any] = {}
    for name in names:
        own = [result for result in results if result["learner"] == name]
        learners[name] = {
            "about": _about(name),
            "num_trainable": own[0]["num_trainable"],
            "seeds": [result["seed"] for result in own],
            **{measure: described(interval([result[measure] for result in own])) for measure in MEASURES},
            "matrix": _mean([result["matrix"] for result in own]),
            "online": _mean([result["online"] for result in own]),
        }
    first = results[0]
    return {
        "kind": "continual",
        "unit": "nats per token, lower is better",
        "experiences": first["experiences"],
        "tokens_per_experience": first["tokens_per_experience"],
        "learners": learners,
    }


def _about(name: str) -> str:
    """What the learner may change: the first paragraph of its docstring."""
    return " ".join((LEARNERS[name].__doc__ or "").partition("\n\n")[0].split())


def _mean(tables: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Element by element, over tables of one shape."""
    return [[sum(cell) / len(cell) for cell in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)]


def rows_of_summary(summary: dict[str, Any]) -> list[list[str]]:
    """A row per learner, as text: mean, and half the width of the interval where there are several seeds."""
    rows: list[list[str]] = []
    for name, found in summary["learners"].items():
        rows.append([name, f"{found['num_trainable']:,}", *(_cell(found[measure]) for measure in MEASURES)])
    return rows


HEADER = ("learner", "trained parameters", *(measure.replace("_", " ") for measure in MEASURES))


def _cell(found: dict[str, Any]) -> str:
    if found["low"] is None:
        return f"{found['mean']:.4f}"
    return f"{found['mean']:.4f} ± {found['high'] - found['mean']:.4f}"


def markdown(summary: dict[str, Any]) -> str:
    rows = [HEADER, ["---"] * len(HEADER), *rows_of_summary(summary)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def as_csv(summary: dict[str, Any]) -> str:
    """One line per learner, measure by measure, with plain numbers."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "learner",
            "num_trainable",
            *(f"{measure}{part}" for measure in MEASURES for part in ("", "_low", "_high")),
        ]
    )
    for name, found in summary["learners"].items():
        cells = [found[measure][part] for measure in MEASURES for part in ("mean", "low", "high")]
        writer.writerow([name, found["num_trainable"], *("" if cell is None else cell for cell in cells)])
    return out.getvalue()
