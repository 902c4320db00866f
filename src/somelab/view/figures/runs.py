"""Figures of one run: loss, balance, usage of experts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from somelab.view.figures.style import (
    ALARM,
    COLOURS,
    COLUMN,
    MUTED,
    PALE,
    figure,
    known,
    layer_colours,
    layer_title,
    millions,
)
from somelab.view.schema.page import MeasureInfo, Run, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BALANCE = (
    "gini",
    "entropy_bits",
    "effective_experts",
    "dead_share",
    "gate_entropy",
    "crowding",
    "num_combinations",
    "combination_entropy_bits",
    "drift",
    "respawns",
)


NARROW = ("gate_entropy",)
"""Measures whose whole range would hide what happens near its end."""


def run_figures(run: Run) -> Iterator[tuple[str, Figure]]:
    """Name and figure of each plot that the run has data for."""
    if run.curves.train.step or run.curves.evaluation.step:
        yield "loss", loss(run)
    if run.balance is not None and run.balance.training.steps:
        yield "balance", balance(run)
    if run.balance is not None and run.balance.usage:
        yield "usage", usage(run)


def loss(run: Run) -> Figure:
    """Training and validation loss against tokens, and bits per byte beside it."""
    made, (left, right) = figure(COLUMN, 2.6, 1, 2)
    train = run.curves.train
    xs, ys = known(train.tokens, train.loss)
    padded = any(
        setting.field == "data.padding_in_loss" and setting.value == "true" for setting in run.config
    )
    left.plot(xs, ys, color=PALE, linewidth=0.8, label="training, padding counted" if padded else "training")
    _measured(left, run, "val_loss", COLOURS[0], "validation")
    left.set(xlabel="tokens trained on", ylabel="nats per token", title="Loss")
    left.legend()
    _measured(right, run, "bits_per_byte", COLOURS[1], "on the way")
    right.set(xlabel="tokens trained on", ylabel="bits per byte", title="Validation, across tokenizers")
    right.legend()
    for axes in (left, right):
        millions(axes)
    made.suptitle(run.name, x=0.01, ha="left", fontsize=9, color=MUTED)
    return made


def _measured(axes: Axes, run: Run, name: str, colour: str, label: str) -> None:
    """An evaluation curve. The one at the end uses all of the text, the others a part of it: it is drawn as a
    separate point."""
    xs, ys = known(run.curves.evaluation.tokens, getattr(run.curves.evaluation, name))
    apart = 1 if run.status == "finished" and len(xs) > 1 else 0
    joined = len(xs) - apart
    axes.plot(xs[:joined], ys[:joined], color=colour, marker="o", markersize=3, label=label)
    if apart:
        axes.plot(
            xs[joined:],
            ys[joined:],
            "D",
            color=colour,
            markerfacecolor="white",
            markersize=4.5,
            label="whole validation text",
        )


def balance(run: Run) -> Figure:
    """A small plot per measure, a line per layer, red beyond the threshold of collapse."""
    assert run.balance is not None
    info = {measure.name: measure for measure in run.balance.info}
    shown: list[tuple[str, Series]] = []
    for name in BALANCE:
        for series in (run.balance.training, run.balance.evaluation):
            values = series.measures.get(name)
            if values and any(value is not None for layer in values for value in layer):
                shown.append((name, series))
                break
    if any(
        name == "respawns" and not any(value for layer in series.measures[name] for value in layer)
        for name, series in shown
    ):
        shown = [(name, series) for name, series in shown if name != "respawns"]
    columns = 3
    rows = math.ceil(len(shown) / columns)
    made, every = figure(COLUMN, 1.65 * rows + 0.5, rows, columns)
    colours = layer_colours(run.num_layers)
    for axes, (name, series) in zip(every, shown):
        for layer, values in enumerate(series.measures[name]):
            axes.plot(*known(series.steps, values), color=colours[layer], linewidth=1.1)
        _decorate(axes, info[name], run)
    for axes in every[len(shown) :]:
        axes.set_visible(False)
    handles = [every[0].lines[layer] for layer in range(min(run.num_layers, len(every[0].lines)))]
    labels = [layer_title(layer, run.layer_names[layer]) for layer in range(len(handles))]
    made.legend(handles, labels, loc="outside lower center", ncols=min(len(handles), 5))
    return made


def _decorate(axes: Axes, measure: MeasureInfo, run: Run) -> None:
    assert run.balance is not None
    axes.set(title=measure.title, ylabel=measure.unit, xlabel="step")
    millions(axes)
    if measure.name == "drift":
        axes.set_yscale("log")
    elif measure.least is not None and measure.name not in NARROW:
        bottom, top = axes.get_ylim()
        # A line along the least stays visible.
        axes.set_ylim(bottom=min(bottom, measure.least - 0.02 * (top - measure.least)))
    line = run.balance.lines.get(measure.name)
    if line is None:
        return
    bottom, top = axes.get_ylim()
    if measure.name == "dead_share":
        top = max(top, line.value)
    # A threshold far from all data would flatten them; it is drawn only if near.
    if line.side == "above" and line.value < top + 0.5 * (top - bottom):
        top = max(top, line.value + 0.08 * (top - bottom))
        axes.axhspan(line.value, top, color=ALARM, alpha=0.08, linewidth=0)
    elif line.side == "below" and line.value > bottom:
        axes.axhspan(bottom, line.value, color=ALARM, alpha=0.08, linewidth=0)
    else:
        return
    axes.axhline(line.value, color=ALARM, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set_ylim(bottom, top)


def usage(run: Run) -> Figure:
    """Usage of every expert on a log scale, the most used first, a plot per layer; the line is the same by
    gate mass."""
    assert run.balance is not None
    layers = run.balance.usage
    columns = min(4, len(layers))
    rows = math.ceil(len(layers) / columns)
    made, every = figure(COLUMN, 1.7 * rows + 0.4, rows, columns, sharey=True)
    positive = [value for layer in layers for value in layer.count if value]
    floor = 10 ** math.floor(math.log10(min(positive))) if positive else 0.1
    floor = max(floor, max(positive, default=1.0) * 1e-5)
    colours = layer_colours(len(layers))
    for layer, (axes, use) in enumerate(zip(every, layers)):
        order = sorted(range(len(use.count)), key=lambda expert: -(use.count[expert] or 0))
        heights = [max(use.count[expert] or 0.0, floor) for expert in order]
        axes.bar(range(len(order)), heights, width=1.0, color=colours[layer], linewidth=0)
        # Gate mass sums to 1 over a token's K experts; times K it is comparable with the selections.
        mass = [max((use.mass[expert] or 0.0) * run.top_k, floor) for expert in order]
        axes.plot(range(len(order)), mass, color=ALARM, linewidth=0.9)
        total = sum(use.count[expert] or 0 for expert in order)
        axes.axhline(total / len(order), color=MUTED, linewidth=0.7, linestyle=(0, (4, 2)))
        axes.set_yscale("log")
        axes.set_ylim(floor, 1.6 * max(positive, default=1.0))
        axes.set_title(layer_title(layer, run.layer_names[layer]), fontsize=7.5)
        axes.set_xlabel("expert, by use")
        axes.grid(visible=False, axis="x")
    for axes in every[::columns]:
        axes.set_ylabel("choices per step")
    for axes in every[len(layers) :]:
        axes.set_visible(False)
    made.suptitle(
        "bars: selections; red: gate mass times K; dashed: uniform usage",
        x=0.01,
        ha="left",
        fontsize=7.5,
        color=MUTED,
    )
    return made
