"""The figure of a domain shift: loss over the new text, then on the old one again, and gain against
forgetting of each method. Lines have intervals over random seeds and labels. Needs matplotlib."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from somelab.adapt.domain_shift.study import best_tuned, summarise, tuned_part
from somelab.errors import SomelabError
from somelab.experiments.probes import shift_probe
from somelab.experiments.runner.plan import Arm, Plan, text_name

Summary = Mapping[str, Mapping[str, Any]]

COLOURS = {
    "frozen": "#6b7280",
    "active": "#d97706",
    "noise": "#a78bfa",
    "load_bias": "#0891b2",
    "memory": "#dc2626",
    "cache": "#2563eb",
    "bigram": "#0d9488",
    "router": "#16a34a",
    "all": "#111827",
}
NAMES = {
    "active": "keys move",
    "noise": "keys turned at random",
    "load_bias": "load bias",
    "memory": "memory by expert",
    "cache": "plain word cache",
    "bigram": "bigram cache",
    "router": "router, by gradient",
    "all": "fine-tuning",
}
QUIET = "#9ca3af"
LABEL_HEIGHT = 0.058
"""Of the axes: how far apart two labels have to be."""


def draw_shifts(plan: Plan, out: Path) -> list[Path]:
    """One figure beside the table for each arm with SoME layers whose runs have the probe; a dense arm that
    it is compared with is drawn dashed. None without matplotlib, which is an extra."""
    if find_spec("matplotlib") is None:
        return []
    studies = {arm.name: _studies(plan, arm, out) for arm in plan.arms}
    drawn: list[Path] = []
    for arm in plan.arms:
        if not studies[arm.name] or arm.config.model.feed_forward != "some":
            continue
        dense = studies.get(arm.base or "") or []
        seeds = f"{len(studies[arm.name])} random seed{'s' if len(studies[arm.name]) > 1 else ''}"
        title = f"{arm.name} reads {text_name(plan.shift)}; {seeds}, 95 % intervals"
        path = out / f"domain-shift-{arm.name}.svg"
        draw_study(summarise(studies[arm.name]), path, title, summarise(dense) if dense else None)
        drawn.append(path)
    return drawn


def _studies(plan: Plan, arm: Arm, out: Path) -> list[dict[str, Any]]:
    """The studies of an arm's runs, as the probe has kept them."""
    if shift_probe.NAME not in arm.probes:
        return []
    files = [
        job.folder / "probes" / f"{shift_probe.NAME}.json" for job in plan.jobs(out) if job.arm == arm.name
    ]
    return [json.loads(file.read_text(encoding="utf-8"))["study"] for file in files if file.is_file()]


def draw_study(summary: Summary, path: Path, title: str = "", dense: Summary | None = None) -> None:
    """Write the figure; the suffix of `path` sets the format. `dense`: runs without SoME layers, drawn with
    dashed lines.

    Of several rates of fine-tuning the one with the lowest loss on the new text is drawn over time, and all
    in the plot of forgetting."""
    try:
        import matplotlib
    except ImportError:
        raise SomelabError(
            "a figure needs matplotlib, which is not installed; `pip install matplotlib`, or leave it out"
        ) from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    style: dict[Any, Any] = {
        "svg.hashsalt": "somelab",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 9,
        "axes.titlesize": 10,
    }
    with pyplot.rc_context(style):  # with the salt, the same numbers give the same file
        goes_back = any(report["back_curve"] for report in summary.values())
        widths = (5, 3, 4) if goes_back else (5, 4)
        figure, axes = pyplot.subplots(
            1, len(widths), figsize=(13 if goes_back else 10, 4.6), width_ratios=widths, layout="constrained"
        )
        new, trade = axes[0], axes[-1]
        _draw_over_time(new, summary, dense or {}, "curve", named=True)
        new.set(
            title="reading new text", xlabel="windows of the text", ylabel="nats per token; lower is better"
        )
        if goes_back:
            _draw_over_time(axes[1], summary, dense or {}, "back_curve", named=False)
            axes[1].set(title="back on the old text, everything still moving", xlabel="windows of the text")
        _draw_trade(trade, summary, dense or {})
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)


def _draw_over_time(axes: Any, summary: Summary, dense: Summary, curve: str, *, named: bool) -> None:
    """A line and its band for each method; of the dense runs only fine-tuning, to keep the figure
    readable."""
    ends: list[tuple[float, str, str]] = []
    last = 0
    for found, line, chosen in ((summary, "-", _drawn(summary)), (dense, (0, (4, 2)), _drawn(dense)[-1:])):
        for method in chosen:
            points = found[method][curve]
            if points:
                colour = _colour(method)
                places = range(1, len(points) + 1)
                axes.plot(
                    places, [point["mean"] for point in points], color=colour, linewidth=1.6, linestyle=line
                )
                if points[0]["low"] is not None:
                    low, high = [point["low"] for point in points], [point["high"] for point in points]
                    axes.fill_between(places, low, high, color=colour, alpha=0.13, linewidth=0)
                ends.append(
                    (points[-1]["mean"], ("dense: " if found is dense else "") + name_of(method), colour)
                )
                last = max(last, len(points))
    axes.margins(x=0.02)
    axes.set_xticks([1, *range(5, last + 1, 5)])
    if named and ends:
        _name_ends(axes, ends, last)


def _name_ends(axes: Any, ends: list[tuple[float, str, str]], last: int) -> None:
    """The name of each line at its end, moved apart where lines end close together, with a thin line to its
    curve."""
    low, high = axes.get_ylim()
    apart = LABEL_HEIGHT * (high - low)
    ends = sorted(ends)
    heights: list[float] = []
    for height, _, _ in ends:
        heights.append(height if not heights else max(height, heights[-1] + apart))
    over = max(0.0, heights[-1] - high)
    # Labels pushed over the top move down again, with those below.
    for index in range(len(heights) - 1, -1, -1):
        above = heights[index + 1] - apart if index + 1 < len(heights) else high if over else heights[index]
        heights[index] = min(heights[index], above)
    axes.set_xlim(right=last * 1.5)
    for place, (height, name, colour) in zip(heights, ends, strict=True):
        axes.plot([last + 0.2, last * 1.06], [height, place], color=colour, linewidth=0.6)
        axes.text(last * 1.075, place, name, color=colour, va="center", fontsize=8.5)


def _draw_trade(axes: Any, summary: Summary, dense: Summary) -> None:
    """Gain against forgetting, a point for each method, hollow for dense runs; rates of fine-tuning are
    joined by a line."""
    for found, is_dense in ((summary, False), (dense, True)):
        rates = [method for method in found if tuned_part(method)[0] == "all"]
        sweep = [(found[method]["gain"]["mean"], found[method]["forgetting"]["mean"]) for method in rates]
        line = (0, (4, 2)) if is_dense else "-"
        axes.plot(
            *zip(*sweep, strict=True), color=COLOURS["all"], linewidth=0.9, linestyle=line
        ) if sweep else None
        for method in (method for method in found if method != "frozen"):
            gain, forgetting, colour = found[method]["gain"], found[method]["forgetting"], _colour(method)
            face = "white" if is_dense else colour
            bars = {"xerr": _spread(gain), "yerr": _spread(forgetting), "elinewidth": 0.8, "ecolor": colour}
            axes.errorbar(
                gain["mean"], forgetting["mean"], fmt="o", ms=6, mfc=face, mec=colour, zorder=3, **bars
            )
            rate = method.partition("@")[2]
            if rate and not is_dense:
                axes.annotate(
                    rate,
                    (gain["mean"], forgetting["mean"]),
                    (8, -3),
                    textcoords="offset points",
                    fontsize=8,
                    va="top",
                )
    axes.axhline(0, color=QUIET, linewidth=0.8, zorder=0)
    axes.axvline(0, color=QUIET, linewidth=0.8, zorder=0)
    axes.set(title="gain against forgetting", xlabel="gain on the new text over frozen, nats per token")
    axes.set_ylabel("forgetting on the old text, nats per token")
    note = "better: to the right and down\ncolours as on the left" + ("; hollow: dense runs" if dense else "")
    axes.set_ylim(top=1.25 * axes.get_ylim()[1])  # space for the note above all points
    axes.text(0.02, 0.98, note, transform=axes.transAxes, fontsize=8.5, color="#4b5563", va="top")


def _drawn(found: Summary) -> list[str]:
    """The methods that are drawn as lines: of several rates of fine-tuning the best, and that last."""
    best = best_tuned({method: report["val_loss"]["mean"] for method, report in found.items()})
    return [method for method in found if tuned_part(method)[0] != "all"] + (
        [best] if best is not None else []
    )


def name_of(method: str) -> str:
    part, _, rate = method.partition("@")
    return NAMES.get(part, part) + (f" at {rate}" if rate else "")


def _colour(method: str) -> str:
    return COLOURS.get(tuned_part(method)[0], QUIET)


def _spread(found: Mapping[str, Any]) -> float | None:
    return None if found["high"] is None else found["high"] - found["mean"]
