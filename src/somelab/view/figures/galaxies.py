"""Figures of the keys: the map of each layer at three times of training, by usage; and at the end by
guild."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from somelab.view.figures.style import (
    COLUMN,
    FAINT,
    MUTED,
    PALE,
    SEQUENTIAL,
    category_colour,
    figure,
    layer_title,
)
from somelab.view.page.packing import unpacked
from somelab.view.schema.page import Galaxy, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}
MOST_LAYERS = 3
MARKERS = "osD^vP*X"


def galaxy_figures(run: Run) -> Iterator[tuple[str, Figure]]:
    """A figure per map method."""
    galaxies = run.galaxies or []
    for method in TITLES:
        with_map = [galaxy for galaxy in galaxies if any(found.method == method for found in galaxy.maps)]
        if with_map:
            yield f"galaxy-{method}", galaxy_figure(run, with_map, method)


def galaxy_figure(run: Run, galaxies: list[Galaxy], method: str) -> Figure:
    """Rows: the first, middle and last layer. Columns: three times, coloured by usage; the end once more, by
    guild."""
    places = sorted({0, len(galaxies) // 2, len(galaxies) - 1})[:MOST_LAYERS]
    with_guilds = any(galaxies[place].guild for place in places)
    columns = 4 if with_guilds else 3
    made, every = figure(COLUMN, 1.62 * len(places) + 0.75, len(places), columns)
    painted: Any = None
    for row, place in enumerate(places):
        galaxy = galaxies[place]
        chosen = next(found for found in galaxy.maps if found.method == method)
        xy_FE2 = unpacked(chosen.xy) * chosen.scale
        usage_FE = np.expm1(unpacked(galaxy.usage) / 255 * math.log1p(galaxy.usage_most))
        frames = (0, _middle(galaxy.way), len(xy_FE2) - 1)
        axes_of_row = every[row * columns : (row + 1) * columns]
        for column, frame in enumerate(frames):
            painted = _by_use(axes_of_row[column], xy_FE2, usage_FE, frame) or painted
            title = f"step {galaxy.steps[frame]:,}"
            axes_of_row[column].set_title(title, fontweight="normal", color=MUTED)
        if with_guilds:
            _by_guild(axes_of_row[3], xy_FE2[-1], galaxy)
        axes_of_row[0].set_ylabel(layer_title(galaxy.layer, galaxy.name), color="black")
    if painted is not None:
        bar = made.colorbar(painted, ax=every, location="bottom", fraction=0.04, aspect=60, pad=0.02)
        bar.set_ticks([0.1, 1, 10], labels=["a tenth or less", "even", "tenfold or more"])
        bar.minorticks_off()
        bar.set_label("use of the expert", color=MUTED)
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    made.suptitle(
        f"{run.name}: {galaxies[0].num_experts} keys a layer, {TITLES[method]}", x=0.01, ha="left", fontsize=9
    )
    return made


def _middle(way: list[float]) -> int:
    """The frame by which keys have covered half of their path after the first: they move most at the
    start."""
    if len(way) < 4:
        return len(way) // 2
    half = (way[1] + 1) / 2
    return next(frame for frame, share in enumerate(way) if share >= half)


def _by_use(axes: Axes, xy_FE2: NDArray[Any], usage_FE: NDArray[Any], frame: int) -> Any:
    """Draw one frame; returns what a colour bar needs, or None if nothing has been used yet."""
    from matplotlib.colors import LogNorm

    _frame(axes, xy_FE2)
    if frame:  # the path of each key
        trail = xy_FE2[max(0, frame - 8) : frame + 1]
        axes.plot(trail[:, :, 0], trail[:, :, 1], color=FAINT, linewidth=0.5, zorder=1)
    even = float(usage_FE[frame].mean())
    x_E, y_E, size = xy_FE2[frame, :, 0], xy_FE2[frame, :, 1], 14 if xy_FE2.shape[1] <= 64 else 5
    if not even:  # before the first step no expert has been used
        axes.scatter(x_E, y_E, color=PALE, s=size, linewidths=0, zorder=2)
        return None
    relative_E = np.clip(usage_FE[frame] / even, 0.1, 10)
    return axes.scatter(
        x_E, y_E, c=relative_E, s=size, cmap=SEQUENTIAL, norm=LogNorm(0.1, 10), linewidths=0, zorder=2
    )


def _by_guild(axes: Axes, xy_E2: NDArray[Any], galaxy: Galaxy) -> None:
    _frame(axes, xy_E2[None])
    axes.set_title("last step, by guild", fontweight="normal", color=MUTED)
    guild_E = np.array(galaxy.guild)
    for guild in np.unique(guild_E):
        of_guild = guild_E == guild
        # Colours repeat after seven, shapes change then: no two of the first 56 guilds look alike.
        colour = FAINT if guild < 0 else category_colour(int(guild))
        marker = "." if guild < 0 else MARKERS[int(guild) // 7 % len(MARKERS)]
        axes.scatter(
            xy_E2[of_guild, 0],
            xy_E2[of_guild, 1],
            color=colour,
            marker=marker,
            s=14,
            linewidths=0,
            alpha=0.85,
        )


def _frame(axes: Axes, xy_FE2: NDArray[Any]) -> None:
    flat = xy_FE2.reshape(-1, 2)
    middle = (flat.max(axis=0) + flat.min(axis=0)) / 2
    half = 0.55 * max(float(np.ptp(flat, axis=0).max()), 1e-9)
    axes.set(
        xlim=(middle[0] - half, middle[0] + half),
        ylim=(middle[1] - half, middle[1] + half),
        xticks=[],
        yticks=[],
    )
    axes.set_box_aspect(1)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(True)
        side.set_color(FAINT)
