"""docs/frontier.md and its figure: loss against what a block costs, one panel per cost, one row of panels per
backbone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from somelab.experiments.ledger.frontier import SHELLS, Family, Point
from somelab.experiments.ledger.listing import tokens_in_words
from somelab.experiments.ledger.store import Ledger

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: dict[Family, str] = {
    "none": "#61707F",
    "dense": "#0072B2",
    "mixture": "#009E73",
    "published": "#CC79A7",
    "some": "#D55E00",
    "frozen": "#E69F00",
    "normed": "#56B4E9",
}
NAMES: dict[Family, str] = {
    "none": "no feed-forward block",
    "dense": "dense, trained",
    "mixture": "learned mixture, trained",
    "published": "SoME as published",
    "some": "SoME, preset some",
    "frozen": "one frozen expert, no routing",
    "normed": "dense, normalised before GELU",
}
COSTS = {
    "trained": "trained weights",
    "flops": "forward FLOPs per token",
    "checkpoint_bytes": "checkpoint, bytes",
    "step_time": "time of a step, relative to none",
}
TITLES = {
    "published": "Published backbone: post-norm, LayerNorm",
    "modern": "Modern backbone: pre-norm, RMSNorm, RoPE, tied head",
}


def page(ledger: Ledger, points: Sequence[Point], figure: str) -> str:
    """The figure, which blocks are on the frontier for each cost, and the table."""
    numbers = sorted({point.loss.num for point in points} or {len(ledger.seeds)})
    seeds = " to ".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1])))
    lines = [
        "# The frontier: loss and cost of each feed-forward block",
        "",
        (
            f"`{ledger.scale}` scale, {tokens_in_words(ledger.length)} tokens of TinyStories, {seeds} "
            "random seeds; every block at its own best learning rate, which was searched on other stories. "
            "Loss in nats per token of the validation stories, with its 95 % interval. Lower and further "
            f"left is better. Written by `somelab evidence --frontier --scale {ledger.scale} --length "
            f"{ledger.length}`."
        ),
        "",
        f"![Loss against trained weights, FLOPs, checkpoint size and time of a step]({figure})",
    ]
    for shell in SHELLS:
        own = [point for point in points if point.shell == shell]
        if own:
            lines += ["", f"## {TITLES[shell]}", "", *_reading(own), "", *_table(own)]
    return "\n".join(lines) + "\n"


def on_frontier(points: Sequence[Point], cost: str) -> list[Point]:
    """The blocks that no other beats at the same cost or less, from the cheapest on.

    A block is beaten by one whose loss is lower by more than either interval reaches: less is noise."""
    known = [point for point in points if getattr(point, cost) is not None]

    def beats(other: Point, point: Point) -> bool:
        cheaper = getattr(other, cost) <= getattr(point, cost)
        return cheaper and other.loss.high < point.loss.mean and other.loss.mean < point.loss.low

    kept = [point for point in known if not any(beats(other, point) for other in known)]
    return sorted(kept, key=lambda point: (getattr(point, cost), point.loss.mean))


def _reading(points: Sequence[Point]) -> list[str]:
    """Which blocks are worth their cost, a line a cost."""
    lines = ["Not beaten by a block of the same cost or less, cheapest first:", ""]
    for cost, label in COSTS.items():
        names = [f"{point.block.title} ({point.loss.mean:.3f})" for point in on_frontier(points, cost)]
        if names:
            lines.append(f"- **{label}**: {', '.join(names)}")
    return lines


def _table(points: Sequence[Point]) -> list[str]:
    heads = [
        "block",
        "loss",
        "95 % interval",
        "rate",
        "trained",
        "FLOPs a token",
        "checkpoint",
        "time of a step",
    ]
    lines = [f"| {' | '.join(heads)} |", "|---|---:|---|---:|---:|---:|---:|---:|"]
    for point in sorted(points, key=lambda point: point.loss.mean):
        cells = [
            point.block.title,
            f"{point.loss.mean:.4f}",
            f"{point.loss.low:.4f} to {point.loss.high:.4f}",
            f"{point.rate:g}",
            f"{point.trained / 1e3:,.0f} k",
            f"{point.flops / 1e6:.2f} M",
            f"{point.checkpoint_bytes / 1e6:.2f} MB",
            "" if point.step_time is None else f"{point.step_time:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def draw(points: Sequence[Point]) -> Figure:
    """One panel per cost, one row per backbone; blocks of one family share a colour, and dense blocks are
    joined by a line."""
    from somelab.view.figures.style import COLUMN, figure

    shells = [shell for shell in SHELLS if any(point.shell == shell for point in points)]
    made, axes = figure(COLUMN * 1.9, 2.9 * len(shells), len(shells), len(COSTS), sharey="row")
    for row, shell in enumerate(shells):
        own = [point for point in points if point.shell == shell]
        for column, (cost, label) in enumerate(COSTS.items()):
            _panel(axes[row * len(COSTS) + column], own, cost, label)
        axes[row * len(COSTS)].set(ylabel="validation loss, nats", title=TITLES[shell])
    named = {
        label: handle for one in axes for handle, label in zip(*one.get_legend_handles_labels(), strict=True)
    }
    made.legend([*named.values()], [*named], loc="outside lower center", ncols=4)
    return made


def _panel(axes: Axes, points: Sequence[Point], cost: str, label: str) -> None:
    from somelab.view.figures.style import millions

    for family, colour in COLOURS.items():
        found = [(getattr(point, cost), point) for point in points if point.block.family == family]
        known = sorted(((x, point) for x, point in found if x is not None), key=lambda pair: pair[0])
        if not known:
            continue
        xs, ys = [x for x, _ in known], [point.loss.mean for _, point in known]
        reach = [
            [y - point.loss.low for y, (_, point) in zip(ys, known)],
            [point.loss.high - y for y, (_, point) in zip(ys, known)],
        ]
        line = "-" if family == "dense" else "none"
        axes.errorbar(
            xs,
            ys,
            yerr=reach,
            color=colour,
            fmt="o",
            linestyle=line,
            markersize=4,
            linewidth=1,
            label=NAMES[family],
        )
    axes.set_xlabel(label)
    if cost != "step_time":
        axes.set_xscale("log")
        millions(axes)
