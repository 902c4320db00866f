"""The results of a continual study for the page: the measures of the table, and the matrices and curves that
have no place in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from somelab.adapt.continual.learners import LEARNERS
from somelab.adapt.domain_shift.study import described
from somelab.experiments.runner.plan import Plan
from somelab.experiments.sweeps.table import Row


def summarise(plan: Plan, rows: Sequence[Row], results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Per learner with a result, in the plan's order: each measure with its interval over seeds, the mean
    matrix, the online curve; then every result."""
    measures = [measure.name for measure in plan.measures.all if measure.name != "num_trainable"]
    learners: dict[str, Any] = {}
    for row in rows:
        own = [result for result in results if result["learner"] == row.arm.name]
        if not own:
            continue
        learners[row.arm.name] = {
            "about": _about(row.arm.name),
            "num_trainable": own[0]["num_trainable"],
            "seeds": list(row.seeds),
            **{name: described(row.means[name]) for name in measures},
            "matrix": _mean([result["matrix"] for result in own]),
            "online": _mean([result["online"] for result in own]),
        }
    first = results[0]
    return {
        "kind": "continual",
        "unit": "nats per token, lower is better",
        "scale": plan.scale,
        "experiences": first["experiences"],
        "tokens_per_experience": first["tokens_per_experience"],
        "learners": learners,
        "results": list(results),
    }


def _about(name: str) -> str:
    """What the learner may change: the first paragraph of its docstring."""
    return " ".join((LEARNERS[name].__doc__ or "").partition("\n\n")[0].split())


def _mean(tables: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Element by element, over tables of one shape."""
    return [[sum(cell) / len(cell) for cell in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)]
