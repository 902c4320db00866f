"""docs/frontier.md and its figure: loss against what a block costs, one panel per cost, one row of panels per
backbone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

from somelab.experiments.claims.shell import LedgerLength, LedgerScale
from somelab.experiments.ledger.frontier import OF_THE_PRESET, SHELLS, TRAINED, Family, Point, ShellName
from somelab.experiments.ledger.listing import tokens_in_words
from somelab.experiments.ledger.page import wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: dict[Family, str] = {
    "none": "#61707F",
    "dense": "#0072B2",
    "gated": "#000000",
    "mixture": "#009E73",
    "published": "#CC79A7",
    "some": "#D55E00",
    "frozen": "#E69F00",
    "normed": "#56B4E9",
}
NAMES: dict[Family, str] = {
    "none": "no feed-forward block",
    "dense": "dense, trained, 1 D to 8 D",
    "gated": "dense, SwiGLU",
    "mixture": "learned mixture, trained",
    "published": "SoME as published",
    "some": "SoME (large: the recommended one)",
    "frozen": "one frozen expert, no routing",
    "normed": "dense, normalised before GELU",
}
COSTS = {
    "trained": "trained weights",
    "flops": "forward FLOPs per token",
    "checkpoint_bytes": "checkpoint, bytes",
    "step_time": "time of a step, relative to none",
}
COSTS_IN_SHORT = {"trained": "trained weights", "flops": "FLOPs", "checkpoint_bytes": "checkpoint size"}
IN_EQUAL_TIME: dict[ShellName, dict[str, str]] = {
    "published": {"credit-beats-equal-dense-in-equal-time": "dense, 1 D"},
    "modern": {
        "modulated-beats-equal-dense-in-equal-time": "dense, 1 D",
        "modulated-beats-normed-dense-in-equal-time": "dense, 1 D, normalised before GELU",
    },
}
"""Claims in which a dense block trains as long as SoME, on more tokens: what it is, by claim."""
LEAST_RANGE = 1.5
"""An axis of costs reaches from a value to this multiple of it, or further."""
TITLES = {
    "published": "Published backbone: post-norm, LayerNorm",
    "modern": "Modern backbone: pre-norm, RMSNorm, RoPE, tied head",
}


@dataclass(frozen=True)
class Part:
    """What the page shows of one length of training."""

    scale: LedgerScale
    length: LedgerLength
    points: Sequence[Point]
    figure: str
    """Its image, as the page links to it."""
    claims: Sequence[Mapping[str, Any]] = ()
    """What the ledger has on record."""


def page(scale: LedgerScale, parts: Sequence[Part]) -> str:
    """For each length and backbone: how SoME compares at each cost, the figure, which blocks are on the
    frontier, and the table."""
    lines = [
        "# The frontier: loss and cost of each feed-forward block",
        "",
        (
            f"TinyStories at `{scale}` scale; every block at its own best learning rate, which was searched "
            "on other stories and for each length of training. Loss in nats per token of the validation "
            "stories, with the 95 % interval from its seeds alone. Lower and further left is better. "
            f"Written by `somelab evidence --frontier --scale {scale}`."
        ),
        "",
        "## At a glance",
        "",
        (
            "The recommended SoME block of each backbone against the best block without frozen experts "
            "(dense of 1 D to 8 D, normalised, SwiGLU, learned mixture, none) that costs as much or less, of "
            "those that have run at that length: after 4.1 M tokens fewer have. *Better* or *worse*: each "
            "mean lies outside the interval of the other; *level*: not so. The last column is from [the "
            "ledger](evidence.md): a dense block that trains for the same time, and so on more tokens."
        ),
        "",
        *_glance(parts),
    ]
    for part in parts:
        numbers = sorted({point.loss.num for point in part.points})
        seeds = " to ".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1])))
        lines += [
            "",
            f"## After {tokens_in_words(part.length)} tokens",
            "",
            f"{len(part.points)} blocks, {seeds} random seeds each.",
            "",
            f"![Loss against trained weights, FLOPs, checkpoint size and time of a step]({part.figure})",
        ]
        for shell in SHELLS:
            own = [point for point in part.points if point.shell == shell]
            if own:
                lines += ["", f"### {TITLES[shell]}", "", *_reading(own), "", *_table(own)]
    return "\n".join(wrapped(lines)) + "\n"


def _glance(parts: Sequence[Part]) -> list[str]:
    costs = [f"at equal {label}" for label in COSTS_IN_SHORT.values()]
    heads = ["backbone", "tokens", *costs, "after equal training time"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for shell in SHELLS:
        for part in parts:
            cells = [_against_trained(part.points, shell, cost) for cost in COSTS_IN_SHORT]
            if any(cells):
                tokens = tokens_in_words(part.length)
                lines.append(f"| {' | '.join([shell, tokens, *cells, _in_equal_time(part, shell)])} |")
    return lines


def _in_equal_time(part: Part, shell: ShellName) -> str:
    """SoME against the strongest dense block that trains for as long; empty where that was not run."""
    found = [
        (result["effect"], result["low"], result["high"], IN_EQUAL_TIME[shell][one["claim"]])
        for one in part.claims
        if one["claim"] in IN_EQUAL_TIME[shell]
        for result in one["results"]
        if (result["scale"], result["length"]) == (part.scale, part.length) and result["low"] is not None
    ]
    if not found:
        return ""
    effect, low, high, title = max(found)
    word = "worse" if low > 0 else "better" if high < 0 else "level"
    return f"**{word}**, {effect:+.3f} ({title})"


def _against_trained(points: Sequence[Point], shell: ShellName, cost: str) -> str:
    """How the recommended SoME block compares with the best block without frozen experts at its cost or
    less; empty where either is not known."""
    own = [point for point in points if point.shell == shell and getattr(point, cost) is not None]
    some = next((point for point in own if point.block.arm == OF_THE_PRESET[shell]), None)
    if some is None:
        return ""
    rivals = [
        point
        for point in own
        if point.block.family in TRAINED and getattr(point, cost) <= getattr(some, cost)
    ]
    if not rivals:
        return ""
    best = min(rivals, key=lambda point: point.loss.mean)
    word = (
        "better" if _is_clearly_below(some, best) else "worse" if _is_clearly_below(best, some) else "level"
    )
    return f"**{word}**, {some.loss.mean - best.loss.mean:+.3f} ({best.block.title})"


def _is_clearly_below(one: Point, other: Point) -> bool:
    """Whether a loss is lower by more than either interval reaches: less is noise."""
    return one.loss.high < other.loss.mean and one.loss.mean < other.loss.low


def on_frontier(points: Sequence[Point], cost: str) -> list[Point]:
    """The blocks that no other beats clearly at the same cost or less, from the cheapest on."""
    known = [point for point in points if getattr(point, cost) is not None]

    def beats(other: Point, point: Point) -> bool:
        return getattr(other, cost) <= getattr(point, cost) and _is_clearly_below(other, point)

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
        known = [
            point for point in points if point.block.family == family and getattr(point, cost) is not None
        ]
        if not known:
            continue
        known.sort(key=lambda point: point.trained)
        xs, ys = [getattr(point, cost) for point in known], [point.loss.mean for point in known]
        reach = [
            [point.loss.mean - point.loss.low for point in known],
            [point.loss.high - point.loss.mean for point in known],
        ]
        axes.errorbar(
            xs,
            ys,
            yerr=reach,
            color=colour,
            fmt="o",
            linestyle="-" if family == "dense" else "none",
            markersize=3.5,
            linewidth=0.8,
            label=NAMES[family],
        )
        for x, point in zip(xs, known, strict=True):
            _mark(axes, x, point, colour)
    axes.set_xlabel(label)
    if cost != "step_time":
        axes.set_xscale("log")
        millions(axes)
    _widen(axes)


def _widen(axes: Axes) -> None:
    """Draw nearly equal costs near each other: without this, 307,680 and 307,682 weights would be at opposite
    ends."""
    low, high = axes.get_xlim()
    if high < LEAST_RANGE * low:
        stretch = sqrt(LEAST_RANGE * low / high)
        axes.set_xlim(low / stretch, high * stretch)


def _mark(axes: Axes, x: float, point: Point, colour: str) -> None:
    """What a reader looks for first: the width of dense blocks, and which of the SoME blocks is the
    recommended one."""
    if point.block.arm == OF_THE_PRESET[point.shell]:
        axes.plot([x], [point.loss.mean], "o", color=colour, markersize=8, markeredgecolor="white", zorder=3)
    if point.block.family == "dense":
        width = point.block.title.removeprefix("dense, ")
        axes.annotate(
            width, (x, point.loss.mean), (4, 3), textcoords="offset points", color=colour, fontsize=7
        )
