"""How figures look: one size of type, thin axes, colour-blind-safe colours, light background. matplotlib is
used without a screen and without its global state."""

from __future__ import annotations

import io
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, black last and yellow left out: it is not visible on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
INK, MUTED, PALE, FAINT, ALARM = "#1F2933", "#61707F", "#9FB3C8", "#D5DBE1", "#B42318"
SEQUENTIAL = "viridis"
COLUMN = 6.3
"""Width of a text column in inches."""
DPI = 200

SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "text.color": INK,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "somelab",
    "svg.fonttype": "path",
}


@contextmanager
def styled() -> Generator[None]:
    """The style of all figures, as a context."""
    import matplotlib as mpl

    with mpl.rc_context(cast(Any, SETTINGS)):
        yield


def figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """An empty figure and its axes row by row. It needs no screen and no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    axes = made.subplots(rows, columns, squeeze=False, **options)
    return made, list(axes.flat)


def rendered(made: Figure, kind: str) -> bytes:
    """The figure as a file; equal figures give equal bytes."""
    content = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    made.savefig(content, format=kind, dpi=DPI, metadata=metadata)
    return content.getvalue()


def layer_colours(number: int) -> list[Any]:
    """Colours from the first layer to the last, in a perceptual order."""
    from matplotlib import colormaps

    return [colormaps["cividis"](0.05 + 0.78 * place / max(1, number - 1)) for place in range(number)]


def category_colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def layer_title(layer: int, name: str | None) -> str:
    return f"Layer {layer}" + (f" · {name}" if name else "")


def known(xs: Sequence[Any], ys: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The points that have both values."""
    pairs = [(x, y) for x, y in zip(xs, ys) if x is not None and y is not None]
    return [x for x, _ in pairs], [y for _, y in pairs]


def millions(axes: Axes, which: str = "x") -> None:
    """Large counts on an axis in thousands, millions, billions."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_formatter(EngFormatter(sep=""))
    if axis.get_scale() == "log":  # often less than a decade: a few round numbers instead of one power of ten
        axis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
        axis.set_minor_formatter(NullFormatter())
