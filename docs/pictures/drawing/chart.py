"""A chart on paper: few grid lines, the name of each axis beside it, and the name of each line at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence

from drawing.canvas import Canvas, Point
from drawing.palette import FAINT, GRID, INK, MUTED


class Chart:
    """Axes inside the rectangle (x, y, width, height): ticks stand left and below, the name of the upright
    axis above."""

    def __init__(
        self,
        canvas: Canvas,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        across: tuple[float, float],
        up: tuple[float, float],
        ticks_across: Sequence[float],
        ticks_up: Sequence[float],
        name_across: str,
        name_up: str,
        log: bool = False,
    ) -> None:
        self.canvas, self.x, self.y, self.width, self.height = canvas, x, y, width, height
        self.across, self.up, self.log = across, up, log
        canvas.text(x, y - 14, name_up, size=12.5, weight=600)
        for tick in ticks_up:
            level = self.at((across[0], tick))[1]
            canvas.line([(x, level), (x + width, level)], stroke=GRID, width=1)
            canvas.text(x - 8, level + 4, label(tick), size=11.5, fill=MUTED, anchor="end")
        canvas.line([(x, y + height), (x + width, y + height)], stroke=FAINT, width=1)
        for tick in ticks_across:
            place = self.at((tick, up[0]))[0]
            canvas.line([(place, y + height), (place, y + height + 4)], stroke=FAINT, width=1)
            canvas.text(place, y + height + 18, label(tick), size=11.5, fill=MUTED, anchor="middle")
        canvas.text(x + width / 2, y + height + 36, name_across, size=12, fill=MUTED, anchor="middle")

    def at(self, point: Point) -> Point:
        """Pixels of a point in the units of the axes; what lies outside is drawn at the edge."""
        low, high = (math.log10(value) for value in self.up) if self.log else self.up
        level = math.log10(max(point[1], self.up[0])) if self.log else point[1]
        share = min(1.0, max(0.0, (level - low) / (high - low)))
        return (
            self.x + (point[0] - self.across[0]) / (self.across[1] - self.across[0]) * self.width,
            self.y + (1 - share) * self.height,
        )

    def line(
        self,
        across: Sequence[float],
        up: Sequence[float],
        colour: str,
        *,
        width: float = 2.2,
        dash: str | None = None,
    ) -> None:
        """A curve. Long ones are thinned to about one point every two pixels."""
        every = max(1, 2 * len(across) // round(self.width))
        points = [*zip(across, up, strict=True)]
        kept = [*points[::every], points[-1]]
        self.canvas.line([self.at(point) for point in kept], stroke=colour, width=width, dash=dash)

    def level(self, up: float, words: str, *, colour: str = MUTED, anchor: str = "end") -> None:
        """A dashed line at one height, with its name on it."""
        y = self.at((self.across[0], up))[1]
        self.canvas.line([(self.x, y), (self.x + self.width, y)], stroke=colour, width=1.2, dash="4 4")
        x = self.x + self.width if anchor == "end" else self.x + 6
        self.canvas.text(x, y - 6, words, size=11.5, fill=MUTED, anchor=anchor)

    def note(
        self,
        point: Point,
        words: str,
        *,
        dx: float = 0,
        dy: float = 0,
        anchor: str = "start",
        fill: str = INK,
    ) -> None:
        """Words at a point of the chart."""
        x, y = self.at(point)
        self.canvas.text(x + dx, y + dy, words, size=12, fill=fill, anchor=anchor)

    def marker(self, point: Point, colour: str, *, radius: float = 4) -> None:
        self.canvas.circle(self.at(point), radius, fill=colour, stroke="#FFFFFF", stroke_width=1.2)


def label(tick: float) -> str:
    """A tick in the shortest form that people read at once."""
    return f"{tick:,.0f}" if abs(tick) >= 1000 else f"{tick:g}"


def legend(
    canvas: Canvas, x: float, y: float, entries: Sequence[tuple[str, str]], *, gap: float = 22
) -> None:
    """Coloured dashes with their meaning, one below the other."""
    for index, (colour, words) in enumerate(entries):
        canvas.line([(x, y + index * gap - 4), (x + 18, y + index * gap - 4)], stroke=colour, width=3)
        canvas.text(x + 26, y + index * gap, words, size=12)
