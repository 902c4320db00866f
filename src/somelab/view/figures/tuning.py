"""Figure of a tuned sweep: loss against the tuned setting, a line an arm, as on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from somelab.view.figures.compare import group_style
from somelab.view.figures.style import COLUMN, figure
from somelab.view.schema.results import ValueChart, ValueLine

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def tuning_figure(chart: ValueChart, title: str) -> Figure:
    """Whole runs are joined, the chosen value has a ring, runs that were stopped early are faint."""
    made, (axes,) = figure(COLUMN * 0.75, 3.0)
    for place, line in enumerate(chart.lines):
        _draw(axes, line, place)
    if chart.log:
        axes.set_xscale("log")
    values = sorted({point.x for line in chart.lines for point in line.points})
    axes.set_xticks(values, chart.labels or [f"{value:.3g}" for value in values])
    axes.set_xticks([], minor=True)
    axes.tick_params(axis="x", rotation=0 if len(values) < 8 else 45)
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label, title=title)
    axes.legend()
    return made


def _draw(axes: Axes, line: ValueLine, place: int) -> None:
    colour, dash = group_style(place)
    ended = [(point.x, point.y) for point in line.points if point.ended and point.y is not None]
    stopped = [(point.x, point.y) for point in line.points if not point.ended and point.y is not None]
    xs, ys = [x for x, _ in ended], [y for _, y in ended]
    drawn = {"color": colour, "linestyle": dash, "marker": "o", "markersize": 3, "linewidth": 1.2}
    axes.plot(xs, ys, label=line.name, **drawn)  # pyright: ignore[reportArgumentType]
    axes.plot([x for x, _ in stopped], [y for _, y in stopped], "o", color=colour, markersize=2, alpha=0.4)
    ring = [(x, y) for x, y in ended if x == line.chosen]
    ring_xs, ring_ys = [x for x, _ in ring], [y for _, y in ring]
    axes.plot(ring_xs, ring_ys, "o", color=colour, markersize=9, markerfacecolor="none")
