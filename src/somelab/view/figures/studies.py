"""Figures of a study of continual learning: its measures as forest plots, the matrices of losses, the loss
along the stream."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from somelab.view.figures.style import COLUMN, MUTED, SEQUENTIAL, figure, millions
from somelab.view.figures.sweeps import draw_band, forest
from somelab.view.schema.results import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def study_figures(study: Study) -> Iterator[tuple[str, Figure]]:
    """Name and figure of each plot; none for a study that could not be read."""
    if not study.learners:
        return
    for measure in study.measures:
        rows = {
            learner.name: (place, learner.figures[measure.name])
            for place, learner in enumerate(study.learners)
        }
        around_zero = not measure.name.endswith("loss")
        yield (
            f"forest-{measure.name}",
            forest(rows, f"{study.name}: {measure.title}", "nats per token", difference=around_zero),
        )
    yield "matrices", matrices(study)
    yield "online", online(study)


def matrices(study: Study) -> Figure:
    """R of every learner with its numbers, in colours that all share; framed: what has just been learned."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    columns = 2
    rows = math.ceil(len(study.learners) / columns)
    size = len(study.experiences)
    made, every = figure(COLUMN, rows * (0.8 + 0.24 * size), rows, columns)
    losses = [loss for learner in study.learners for row in learner.matrix for loss in row]
    low, high = min(losses), max(losses)
    ramp = colormaps[f"{SEQUENTIAL}_r"]
    for axes, learner in zip(every, study.learners):
        axes.imshow(learner.matrix, cmap=ramp, vmin=low, vmax=high, aspect="auto")
        for i, row in enumerate(learner.matrix):
            for j, loss in enumerate(row):
                red, green, blue, _ = ramp((loss - low) / ((high - low) or 1.0))
                is_light = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.18
                ink = "black" if is_light else "white"
                axes.text(j, i, f"{loss:.2f}", ha="center", va="center", fontsize=7, color=ink)
                if i == j:
                    axes.add_patch(
                        Rectangle((j - 0.47, i - 0.47), 0.94, 0.94, fill=False, edgecolor=ink, linewidth=1.2)
                    )
        axes.set_title(learner.name)
        axes.set_xticks(range(size), study.experiences)
        axes.set_yticks(range(len(study.rows)), study.rows)
        axes.tick_params(length=0)
        axes.grid(visible=False)
    for axes in every[len(study.learners) :]:
        axes.set_visible(False)
    made.suptitle(
        "loss on the column's experience after the row's, nats per token",
        x=0.01,
        ha="left",
        fontsize=7.5,
        color=MUTED,
    )
    return made


def online(study: Study) -> Figure:
    """Loss of each stretch before it was learned from, with the borders between experiences."""
    made, (axes,) = figure(COLUMN, 3.0)
    for place, learner in enumerate(study.learners):
        draw_band(axes, learner.online, place, learner.name)
    top = axes.get_ylim()[1]
    for number, name in enumerate(study.learned):
        start = number * study.tokens_per_experience
        if number:
            axes.axvline(start, color=MUTED, linewidth=0.7, linestyle=":")
        axes.annotate(
            name, (start, top), (3, 0), textcoords="offset points", va="bottom", fontsize=7, color=MUTED
        )
    axes.set_xlim(0, len(study.learned) * study.tokens_per_experience)
    axes.set(xlabel="tokens of the stream", ylabel="online loss, nats")
    millions(axes)
    made.legend(loc="outside lower center", ncols=4)
    return made
