"""Figures of a sweep: a forest plot of every measure, of the differences from the base, the curves of the
arms, and their searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from somelab.view.figures.compare import group_style
from somelab.view.figures.style import COLUMN, MUTED, category_colour, figure, known, millions
from somelab.view.figures.tuning import tuning_figure
from somelab.view.schema.parts import Interval
from somelab.view.schema.results import Arm, Band, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = ("val_loss", "bits_per_byte", "ppl_with_padding", "gini", "num_combinations", "crowding")
CURVES = {
    "val_loss": "validation loss, nats",
    "bits_per_byte": "bits per byte",
    "loss": "training loss, nats",
}
REACH = 1.5
"""How far beyond the values of the seeds an interval may extend the axis, in units of their range: as on the
page."""


def sweep_figures(sweep: Sweep) -> Iterator[tuple[str, Figure]]:
    """Name and figure of each plot that the sweep has data for."""
    for measure in sweep.measures:
        if measure.name in DRAWN:
            for kind, rows in (
                ("", _figures(sweep.arms, measure.name)),
                ("-difference", _differences(sweep.arms, measure.name)),
            ):
                if rows:
                    title = f"{sweep.name}: {measure.title}" + (", difference from the base" if kind else "")
                    yield (
                        f"forest-{measure.name}{kind}",
                        forest(rows, title, measure.title, difference=bool(kind)),
                    )
    for name, label in CURVES.items():
        bands = {
            arm.name: (place, arm.curves[name]) for place, arm in enumerate(sweep.arms) if name in arm.curves
        }
        if bands:
            yield f"curve-{name}", curves(bands, sweep.name, label)
    if sweep.tuning is not None:
        yield "tuning", tuning_figure(sweep.tuning, f"{sweep.name}: loss against {sweep.tuning.x_label}")


Rows = Mapping[str, tuple[int, Interval]]
"""Label, place (for the colour) and interval."""


def _figures(arms: Sequence[Arm], name: str) -> Rows:
    return {arm.name: (place, arm.figures[name]) for place, arm in enumerate(arms) if name in arm.figures}


def _differences(arms: Sequence[Arm], name: str) -> Rows:
    return {
        f"{arm.name} \u2212 {arm.base}": (place, arm.differences[name])
        for place, arm in enumerate(arms)
        if name in arm.differences
    }


def forest(rows: Rows, title: str, label: str, *, difference: bool = False) -> Figure:
    """A row each: mean, its 95 % interval, and every seed as a small dot."""
    made, (axes,) = figure(COLUMN * 0.75, 0.75 + 0.26 * len(rows))
    for row, (place, found) in enumerate(rows.values()):
        colour = category_colour(place)
        if found.mean is None:
            continue
        if found.low is not None and found.high is not None:
            axes.plot(
                [found.low, found.high],
                [row, row],
                color=colour,
                linewidth=3.5,
                alpha=0.3,
                solid_capstyle="round",
            )
        if len(found.values) > 1:
            points, _ = known(found.values, found.values)
            axes.plot(points, [row + 0.24] * len(points), "o", color=colour, markersize=2)
        axes.plot(found.mean, row, "o", color=colour, markersize=5)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.45, -0.55)
    axes.set_xlim(*_span([found for _, found in rows.values()], difference=difference))
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    if difference:
        axes.axvline(0, color=MUTED, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set(xlabel=label, title=title)
    return made


def _span(intervals: Sequence[Interval], *, difference: bool) -> tuple[float, float]:
    points = [value for found in intervals for value in (found.mean, *found.values) if value is not None]
    points += [0.0] if difference else []
    least, most = min(points), max(points)
    margin = REACH * (most - least) or 0.05 * abs(most) or 0.05
    low = min([least, *(max(found.low, least - margin) for found in intervals if found.low is not None)])
    high = max([most, *(min(found.high, most + margin) for found in intervals if found.high is not None)])
    edge = 0.04 * (high - low) or 0.02 * abs(high) or 0.02
    return low - edge, high + edge


def curves(bands: Mapping[str, tuple[int, Band]], title: str, label: str) -> Figure:
    """Mean over seeds, and a band from the lowest to the highest of them."""
    made, (axes,) = figure(COLUMN * 0.75, 3.0)
    for name, (place, band) in bands.items():
        draw_band(axes, band, place, name)
    axes.set(xlabel="tokens trained on", ylabel=label, title=title)
    millions(axes)
    axes.legend()
    return made


def draw_band(axes: Axes, band: Band, place: int, label: str) -> None:
    colour, dash = group_style(place)
    xs, ys = known(band.tokens, band.mean)
    axes.plot(xs, ys, color=colour, linestyle=dash, linewidth=1.2, label=label)  # pyright: ignore[reportArgumentType]
    if band.low != band.high:
        _, low = known(band.tokens, band.low)
        _, high = known(band.tokens, band.high)
        axes.fill_between(cast("list[float]", xs), low, high, color=colour, alpha=0.17, linewidth=0)
