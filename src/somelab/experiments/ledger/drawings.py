"""Figures of the ledger: loss against learning rate, one line per arm; loss against tokens and against
time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from somelab.experiments.claims.shell import ANCHOR, STEP_TOKENS
from somelab.experiments.ledger.records import Records, RunRecord
from somelab.experiments.tuning.curve import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 12
ROOM = 0.35
"""Nats above the best loss that a figure shows: runs above it have diverged or learn far too slowly."""
DRAWN = ("no-ffn", "base", "recipe-dense", "dense-4d", "fixed-x4", "credit-x4", "moe")
"""The arms whose loss is drawn over tokens and time, where they have run."""


def headline_curves(curves: Mapping[str, Curve]) -> list[Curve]:
    """The curves to draw: those of the main arms, in a fixed order, then others up to the limit."""
    first = [curves[arm] for arm in DRAWN if arm in curves]
    return [*first, *(curve for arm, curve in sorted(curves.items()) if arm not in DRAWN)]


def rate_figure(curves: Sequence[Curve], title: str) -> Figure | None:
    """Loss of the ended tuning runs against the learning rate; the chosen rate is a filled dot. None without
    any."""
    from somelab.view.figures.style import COLUMN, category_colour, figure

    drawn = [curve for curve in curves if len(curve.points) > 2][:MOST_LINES]
    if not drawn:
        return None
    made, (axes,) = figure(COLUMN, 3.4)
    losses = [loss for curve in drawn for _, loss in curve.points]
    lowest, highest = min(losses), max(losses)
    for place, curve in enumerate(drawn):
        points = [(float(x), loss) for x, loss in curve.points if isinstance(x, (int, float))]
        colour, dash = category_colour(place), "-" if place < 7 else "--"
        xs, ys = [x for x, _ in points], [y for _, y in points]
        axes.plot(
            xs,
            ys,
            dash,
            color=colour,
            linewidth=1.1,
            marker="o",
            markersize=3,
            markerfacecolor="white",
            label=curve.arm,
        )
        chosen = [(x, y) for x, y in points if x == curve.best]
        axes.plot([x for x, _ in chosen], [y for _, y in chosen], "o", color=colour, markersize=5)
    axes.set_xscale("log")
    axes.set_ylim(lowest - 0.02, min(highest + 0.02, lowest + ROOM))
    values = {float(x) for curve in drawn for x, _ in curve.points if isinstance(x, (int, float))}
    ticks = sorted(value for value in values if abs(math.log2(value / ANCHOR) % 1) < 0.01)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set(xlabel="learning rate", ylabel="loss on tuning text, nats", title=title)
    axes.legend(ncols=2)
    return made


def learning_figure(
    records: Records, scale: str, length: str, rates: Mapping[str, float], title: str
) -> Figure | None:
    """Validation loss over tokens and over time, mean over seeds. `rates`: the tuned rate of each arm.

    Time is steps times the measured time of a step, in units of the decoder without a feed-forward block.
    None if nothing was run."""
    from somelab.view.figures.style import COLUMN, figure, millions

    times = records.times.get(scale, {})
    losses = {
        arm: found for arm in DRAWN if (found := _mean_losses(records, arm, scale, length, rates.get(arm)))
    }
    if not losses:
        return None
    made, (by_tokens, by_time) = figure(COLUMN * 1.3, 3.0, 1, 2, sharey=True)
    for place, (arm, found) in enumerate(losses.items()):
        _line(by_tokens, [step * STEP_TOKENS for step in found], list(found.values()), place, arm)
        if arm in times:
            _line(by_time, [step * times[arm] for step in found], list(found.values()), place, arm)
    by_tokens.set(xlabel="tokens trained on", ylabel="validation loss, nats", title=title)
    by_time.set(xlabel="time, in steps of the decoder without a feed-forward block")
    millions(by_tokens)
    by_tokens.legend()
    return made


def _line(axes: Axes, xs: Sequence[float], ys: Sequence[float], place: int, label: str) -> None:
    from somelab.view.figures.style import category_colour

    axes.plot(xs, ys, "-o", color=category_colour(place), linewidth=1.1, markersize=3, label=label)


def _mean_losses(records: Records, arm: str, scale: str, length: str, rate: float | None) -> dict[int, float]:
    """Loss by step, mean over the seeds that ran at the tuned rate."""
    runs: list[RunRecord] = [
        run
        for run in records.runs.values()
        if (run.arm, run.scale, run.length, run.rate) == (arm, scale, length, rate) and run.losses
    ]
    steps = sorted(
        {int(step) for run in runs for step in run.losses if all(step in other.losses for other in runs)}
    )
    return {step: sum(run.losses[str(step)] for run in runs) / len(runs) for step in steps}
