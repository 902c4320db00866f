"""The study's figure: loss over the new text and back on the old, a line per method with its interval, and what each forgot.
matplotlib draws it, where it is installed; nothing else needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from somelab.errors import SomelabError

COLOURS = {
    "frozen": "#6b7280",
    "active": "#d97706",
    "noise": "#c4b5fd",
    "load_bias": "#0891b2",
    "memory": "#dc2626",
    "cache": "#2563eb",
    "router": "#16a34a",
    "all": "#111827",
}


def draw_study(summary: dict[str, dict[str, Any]], path: Path, title: str = "") -> None:
    """Write the figure; the ending of `path` says in which format."""
    try:
        import matplotlib
    except ImportError:
        raise SomelabError("a figure needs matplotlib, which is not installed; `pip install matplotlib`, or leave it out") from None
    matplotlib.use("agg")
    from matplotlib import pyplot

    pyplot.rcParams["svg.hashsalt"] = "somelab"  # the same numbers give the same file
    figure, (over_time, forgotten) = pyplot.subplots(1, 2, figsize=(11, 4.2), width_ratios=(3, 1))
    for method, found in summary.items():
        start = 0
        for curve in (found["curve"], found["back_curve"]):  # apart, so that no line crosses from one text to the other
            _draw_curve(over_time, start, curve, COLOURS.get(method, "#9ca3af"), "" if start else method)
            start += len(curve)
    boundary = max((len(found["curve"]) for found in summary.values()), default=0) - 0.5
    over_time.axvline(boundary, color="#9ca3af", linewidth=0.8, linestyle=":")
    over_time.set(xlabel="windows of the new text, then of the old one again", ylabel="nats per token", title=title)
    over_time.legend(fontsize=8, ncols=2)
    _draw_forgetting(forgotten, summary)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)


def _draw_curve(axes: Any, start: int, curve: list[dict[str, Any]], colour: str, label: str) -> None:
    places = range(start, start + len(curve))
    axes.plot(places, [point["mean"] for point in curve], label=label or None, color=colour, linewidth=1.6)
    if curve and curve[0]["low"] is not None:
        low, high = [point["low"] for point in curve], [point["high"] for point in curve]
        axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)


def _draw_forgetting(axes: Any, summary: dict[str, dict[str, Any]]) -> None:
    names = list(summary)
    means = [summary[name]["forgetting"]["mean"] for name in names]
    highs = [summary[name]["forgetting"]["high"] for name in names]
    spread = [0.0 if high is None else high - mean for mean, high in zip(means, highs, strict=True)]
    axes.barh(names, means, xerr=spread, color=[COLOURS.get(name, "#9ca3af") for name in names])
    axes.invert_yaxis()
    axes.set(xlabel="nats per token", title="forgetting on the old text")
