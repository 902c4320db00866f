"""The results of a continual study for the page: the measures of the table, and the matrices and curves that
have no place in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from somelab.adapt.continual.learners import LEARNERS
from somelab.adapt.domain_shift.study import described
from somelab.experiments.runner.plan import Plan
from somelab.experiments.sweeps.table import Row, tuning_record

COUNTS = ("num_trainable", "parameters_added", "bytes_added")
"""Figures that are the same for all seeds, or nearly: those of the first seed are shown."""


def summarise(
    plan: Plan, rows: Sequence[Row], results: Sequence[dict[str, Any]], bases: dict[str, Any]
) -> dict[str, Any]:
    """Per learner with a result, in the plan's order: each measure with its interval over seeds, the mean
    matrix, the online curve, the learning rate and how it was found; then every result. `bases`: the
    learning rate of each base, with its search."""
    measures = [measure.name for measure in plan.measures.all if measure.name not in COUNTS]
    learners: dict[str, Any] = {}
    for row in rows:
        own = [result for result in results if result["learner"] == row.arm.name]
        if not own:
            continue
        learners[row.arm.name] = {
            "about": _about(row.arm.name),
            **{name: own[0][name] for name in COUNTS},
            "learning_rate": own[0]["learning_rate"],
            **tuning_record(row),
            "seeds": list(row.seeds),
            **{name: described(row.means[name]) for name in measures},
            "matrix": _mean([result["matrix"] for result in own]),
            "online": _mean([result["online"] for result in own]),
            **_growth(own),
        }
    first = results[0]
    return {
        "kind": "continual",
        "unit": "nats per token, lower is better",
        "scale": plan.scale,
        "experiences": first["experiences"],
        "tokens_per_experience": first["tokens_per_experience"],
        "bases": bases,
        "learners": learners,
        "results": list(results),
    }


def _about(name: str) -> str:
    """What the learner may change: the first paragraph of its docstring."""
    return " ".join((LEARNERS[name].__doc__ or "").partition("\n\n")[0].split())


def _growth(own: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of a learner that grows: the generations of the first seed, and the share of each experience's tokens
    by expert, mean over the seeds that grew as many."""
    if not own[0].get("generations"):
        return {}
    served = [result["served"] for result in own if result.get("served")]
    alike = [one for one in served if [len(row) for row in one] == [len(row) for row in served[0]]]
    names = own[0].get("served_by", [])
    return {"generations": own[0]["generations"], "served_by": names, "served": _mean(alike) if alike else []}


def _mean(tables: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Element by element, over tables of one shape."""
    return [[sum(cell) / len(cell) for cell in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)]
