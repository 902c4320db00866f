"""Figures of guilds: mutual information with word classes beside its two baselines, and co-activation of
experts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from somelab.view.figures.style import COLOURS, COLUMN, FAINT, INK, MUTED, figure, layer_title
from somelab.view.page.packing import unpacked
from somelab.view.schema.page import LayerGuilds, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABELS = {
    "builtin": "exact word classes",
    "tagger": "a tagger's word classes",
    "lexicon": "word classes of a word list",
    "none": "",
}


def guild_figures(run: Run) -> Iterator[tuple[str, Figure]]:
    layers = run.guilds or []
    if any(layer.guild_nmi or layer.expert_nmi for layer in layers):
        yield "word-classes", word_classes(run, layers)
    if any(layer.pair_matrix for layer in layers):
        yield "coactivation", coactivation(run, layers)


def word_classes(run: Run, layers: list[LayerGuilds]) -> Figure:
    """Per layer: NMI with its interval, the shuffled baseline, and the range for word forms alone."""
    made, every = figure(COLUMN, 2.9, 1, 2, sharey=True)
    for axes, kind, title in (
        (every[0], "guild_nmi", "Guild of the strongest expert"),
        (every[1], "expert_nmi", "Strongest expert"),
    ):
        for place, layer in enumerate(layers):
            found = getattr(layer, kind)
            if found is None:
                axes.text(place, 0.01, "no guilds", ha="center", rotation=90, va="bottom", color=MUTED)
                continue
            first = place == 0
            width = found.by_word_high - found.by_word_low
            label = "word forms alone (95 %)" if first else ""
            axes.bar(place, width, bottom=found.by_word_low, width=0.5, color=FAINT, linewidth=0, label=label)
            axes.hlines(found.by_word_mean, place - 0.25, place + 0.25, color=MUTED, linewidth=0.9)
            label = "tokens shuffled" if first else ""
            axes.hlines(
                found.shuffled_mean, place - 0.25, place + 0.25, color=COLOURS[1], linewidth=1.4, label=label
            )
            error = [[found.value - found.low], [found.high - found.value]]
            label = "measured (95 % over documents)" if first else ""
            axes.errorbar(
                place,
                found.value,
                yerr=error,
                fmt="o",
                color=COLOURS[0],
                markersize=4.5,
                capsize=2.5,
                label=label,
            )
        axes.set_xticks(range(len(layers)), [_short(layer) for layer in layers])
        axes.set_title(title)
        axes.set_xlim(-0.5, len(layers) - 0.5)
        axes.grid(visible=False, axis="x")
    every[0].set_ylim(bottom=0)  # shared by both, and only now that both are drawn
    every[0].set_ylabel("normalised mutual information")
    handles, labels = every[1].get_legend_handles_labels()
    if not handles:
        handles, labels = every[0].get_legend_handles_labels()
    made.legend(handles, labels, loc="outside lower center", ncols=3)
    made.suptitle(f"{run.name}: against {LABELS[layers[0].labels]}", x=0.01, ha="left", fontsize=9, color=INK)
    return made


def _short(layer: LayerGuilds) -> str:
    return f"{layer.layer}\n{layer.name}" if layer.name else str(layer.layer)


def coactivation(run: Run, layers: list[LayerGuilds]) -> Figure:
    """How often two experts are selected together, sorted by guild: blocks are guilds."""
    shown = [layer for layer in layers if layer.pair_matrix is not None]
    columns = min(4, len(shown))
    rows = math.ceil(len(shown) / columns)
    made, every = figure(COLUMN, 1.75 * rows + 0.35, rows, columns)
    for axes, layer in zip(every, shown):
        _matrix(axes, layer)
    for axes in every[len(shown) :]:
        axes.set_visible(False)
    made.suptitle(
        "dark: two experts are always selected together; boxes: guilds",
        x=0.01,
        ha="left",
        fontsize=7.5,
        color=MUTED,
    )
    return made


def _matrix(axes: Axes, layer: LayerGuilds) -> None:
    from matplotlib.patches import Rectangle

    assert layer.pair_matrix is not None
    axes.imshow(unpacked(layer.pair_matrix), cmap="Blues", vmin=0, vmax=255, interpolation="nearest")
    start = 0
    for guild in layer.guilds:
        size = len(guild.experts)
        axes.add_patch(
            Rectangle((start - 0.5, start - 0.5), size, size, fill=False, edgecolor=COLOURS[1], linewidth=0.8)
        )
        start += size
    axes.set(xticks=[], yticks=[])
    number = len(layer.guilds)
    found = f"{number} guild{'' if number == 1 else 's'}, Q = {layer.modularity:.2f}"
    axes.set_xlabel(found if number else "no guilds beyond chance")
    axes.set_title(layer_title(layer.layer, layer.name))
    axes.grid(visible=False)
