"""The disk of keys: two-dimensional keys have a direction and a length of at most about 1, so they live
inside the unit circle. Queries of length 1 lie on its rim. Direction is what a key stands for, length is how
loudly it bids."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from drawing.canvas import Canvas, Point, outline
from drawing.palette import NIGHT, NIGHT_LINE, NIGHT_TEXT, STAR


class Disk:
    """A square piece of night sky with the unit circle in it."""

    def __init__(
        self, canvas: Canvas, x: float, y: float, size: float, *, caption: str = "", margin: float = 34
    ) -> None:
        self.canvas, self.x, self.y, self.size = canvas, x, y, size
        self.centre: Point = (x + size / 2, y + size / 2)
        self.radius = size / 2 - margin
        canvas.rect(x, y, size, size, radius=12, fill=NIGHT)
        canvas.circle(self.centre, self.radius, stroke=NIGHT_LINE, stroke_width=1.2)
        canvas.circle(self.centre, self.radius / 2, stroke=NIGHT_LINE, stroke_width=1, dash="2 5")
        canvas.circle(self.centre, 1.8, fill=NIGHT_LINE)
        if caption:
            canvas.text(x + 14, y + 22, caption, size=12.5, weight=600, fill=NIGHT_TEXT)

    def at(self, point: Tensor | Sequence[float]) -> Point:
        """Pixels of a point."""
        x, y = (float(value) for value in point)
        return self.centre[0] + x * self.radius, self.centre[1] - y * self.radius

    def key(self, point: Tensor, colour: str, *, radius: float = 7, hollow: bool = False) -> None:
        if hollow:
            self.canvas.circle(self.at(point), radius, fill=NIGHT, stroke=colour, stroke_width=1.6)
        else:
            self.canvas.circle(self.at(point), radius, fill=colour, stroke=NIGHT, stroke_width=1.5)

    def queries(
        self, points_TD: Tensor, *, colour: str = STAR, radius: float = 1.6, opacity: float = 0.75
    ) -> None:
        for point in points_TD:
            self.canvas.circle(self.at(point), radius, fill=colour, opacity=opacity)

    def trail(self, points: Sequence[Tensor], colour: str, *, every: int = 0) -> None:
        """The way of a key; a small dot at every n-th step shows its speed."""
        self.canvas.path(outline([self.at(point) for point in points]), stroke=colour, width=1.8, opacity=0.8)
        for point in points[::every] if every else []:
            self.canvas.circle(self.at(point), 2, fill=colour)

    def text(
        self, point: Tensor | Sequence[float], words: str, *, size: float = 12, fill: str = NIGHT_TEXT
    ) -> None:
        """Words around a point."""
        x, y = self.at(point)
        self.canvas.text(x, y + size * 0.35, words, size=size, fill=fill, anchor="middle")
