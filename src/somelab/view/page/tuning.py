"""The searches of a tuned sweep as the page shows them: loss against the setting, and what was chosen.

Read from the table of the sweep; a sweep that tunes nothing has none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from somelab.view.page.results import exact
from somelab.view.schema.results import ArmTuning, ValueChart, ValueLine, ValuePoint

CHOSEN = ("tuned", "at the edge")
"""The standings of a search that is over, and has a value."""
WIDE = 8
"""Given numbers that span this factor are drawn on a logarithmic axis, as grids are."""


def arm_tuning(record: dict[str, Any]) -> ArmTuning | None:
    """The result of the search of one arm, by its record in the table."""
    tuning = record.get("tuning")
    if tuning is None:
        return None
    place = _chosen(tuning)
    return ArmTuning(
        chosen="" if place is None else str(tuning["curve"][place]["label"]),
        standing=str(tuning["standing"]),
        num_runs=float(tuning["runs"]),
        problem=str(tuning.get("problem", "")),
    )


def value_chart(table: dict[str, Any]) -> ValueChart | None:
    """The chart of all searches; None for a sweep that tunes nothing."""
    about = table.get("tuning")
    if about is None:
        return None
    searches = {str(arm["name"]): arm["tuning"] for arm in table["arms"] if arm.get("tuning")}
    points = [point for tuning in searches.values() for point in tuning["curve"]]
    labels = _labels(points)
    return ValueChart(
        x_label=str(about["setting"]),
        y_label="validation loss, nats",
        log=not labels
        and _is_log([float(point["value"]) for point in points], is_grid=about["values"] is None),
        labels=labels,
        lines=[_line(name, tuning, labels) for name, tuning in searches.items()],
    )


def _labels(points: Sequence[dict[str, Any]]) -> list[str]:
    """The values in words, in their order; empty where all are numbers, which lie on an axis."""
    if all(exact(point["value"]) is not None and not isinstance(point["value"], bool) for point in points):
        return []
    return list(dict.fromkeys(str(point["label"]) for point in points))


def _is_log(values: Sequence[float], *, is_grid: bool) -> bool:
    return bool(values) and min(values) > 0 and (is_grid or max(values) >= WIDE * min(values))


def _line(name: str, tuning: dict[str, Any], labels: Sequence[str]) -> ValueLine:
    curve = tuning["curve"]
    points = [_point(name, point, int(tuning["steps"]), labels) for point in curve]
    place = _chosen(tuning)
    chosen = None if place is None else points[place].x
    return ValueLine(name=name, points=sorted(points, key=lambda point: point.x), chosen=chosen)


def _point(name: str, point: dict[str, Any], num_steps: int, labels: Sequence[str]) -> ValuePoint:
    label, loss = str(point["label"]), exact(point["loss"])
    x = float(labels.index(label)) if labels else float(point["value"])
    measured = "diverged" if loss is None else f"{loss:.4f}"
    stopped = "" if point["ended"] else f", stopped at step {int(point['step'])} of {num_steps}"
    return ValuePoint(x=x, y=loss, ended=bool(point["ended"]), note=f"{name} at {label}: {measured}{stopped}")


def _chosen(tuning: dict[str, Any]) -> int | None:
    """The place of the chosen value on the curve. It may be null: the standing tells whether there is one."""
    if tuning["standing"] not in CHOSEN:
        return None
    return [point["value"] for point in tuning["curve"]].index(tuning["chosen"])
