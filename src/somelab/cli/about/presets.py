"""`somelab presets`: the presets by series, with their sizes and published parameter counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from somelab.cli.terminal import console, print_json, say, table
from somelab.config import PRESETS, Preset, preset

LEGEND = (
    "D model width, L layers, E experts per layer, F expert width, K experts per token. Parameters in\n"
    "millions, as published: `somelab params --all` counts them again.\n"
    "`somelab show NAME` prints a preset."
)


@dataclass(frozen=True)
class Arguments:
    """List the presets: every published run, the studies that the reports propose, baselines and a demo."""

    json: bool = False
    """Print a list for programs, with each preset's whole configuration."""


def run(arguments: Arguments) -> None:
    everything = [preset(name) for name in PRESETS]
    if arguments.json:
        print_json([_entry(one) for one in everything])
        return
    listing = table(
        "name",
        "ver.",
        "what it is",
        "D/L/E/F/K",
        "total",
        "trained",
        numbers=("total", "trained"),
        wrapped=("what it is",),
    )
    series = ""
    for one in everything:
        if one.series != series:
            if series:
                listing.add_section()
            series = one.series
            listing.add_row("", "", series, style="bold")
        listing.add_row(one.name, one.version, one.title, _sizes(one), *_published(one))
    console().print(listing)
    say(f"\n{LEGEND}")


def _sizes(one: Preset) -> str:
    model, experts = one.config.model, one.config.experts
    return f"{model.d_model}/{model.num_layers}/{experts.num_experts}/{experts.d_ffn}/{experts.top_k}"


def _published(one: Preset) -> tuple[str, str]:
    figures = one.published
    if figures is None or figures.total is None or figures.trainable is None:
        return "", ""
    return f"{figures.total:.2f}", f"{figures.trainable:.2f}"


def _entry(one: Preset) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": one.title,
        "series": one.series,
        "version": one.version,
        "source": one.source,
        "note": one.note,
        "stated": sorted(one.stated),
        "published_elsewhere": sorted(one.elsewhere),
        "filled": sorted(one.filled),
        "config": one.config.model_dump(mode="json"),
    }
