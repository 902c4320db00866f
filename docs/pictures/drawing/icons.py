"""Small drawings for diagrams: a padlock, a query network, and one sign for each of the rules that people ask
about first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from drawing.canvas import Canvas, Point, mix, number
from drawing.palette import NIGHT, ORANGE, SKY, STAR, YELLOW


def lock(canvas: Canvas, at: Point, colour: str) -> None:
    """A padlock whose body is centred a little below `at`."""
    x, y = at
    canvas.path(
        f"M{number(x - 4.5)} {number(y)} V{number(y - 4)} a4.5 4.5 0 0 1 9 0 V{number(y)}",
        stroke=colour,
        width=2,
    )
    canvas.rect(x - 7.5, y, 15, 12, radius=2.5, fill=colour)


def network(canvas: Canvas, at: Point, colour: str, faint: str) -> None:
    """Three columns of units and the lines between them."""
    columns = [
        [(at[0] + dx, at[1] + dy) for dy in heights]
        for dx, heights in ((-30, (-12, 12)), (0, (-22, 0, 22)), (30, (-12, 12)))
    ]
    for left, right in itertools.pairwise(columns):
        for start in left:
            for end in right:
                canvas.line([start, end], stroke=faint, width=1.2)
    for column in columns:
        for unit in column:
            canvas.circle(unit, 5.5, fill=colour)


def sign(canvas: Canvas, name: str, at: Point, radius: float = 26) -> None:
    """A rule's sign on a round piece of night sky."""
    canvas.circle(at, radius, fill=NIGHT)
    SIGNS[name](canvas, at)


def _attraction(canvas: Canvas, at: Point) -> None:
    x, y = at
    for dx, dy in ((11, -12), (17, -5), (9, -4), (14, 3)):
        canvas.circle((x + dx, y + dy), 1.8, fill=STAR)
    canvas.circle((x - 12, y + 9), 5, fill=ORANGE)
    canvas.arrow([(x - 6, y + 5), (x + 5, y - 2)], stroke=ORANGE, head=6)


def _peer_pull(canvas: Canvas, at: Point) -> None:
    x, y = at
    canvas.circle((x - 16, y), 4.5, fill=ORANGE)
    canvas.circle((x + 16, y), 4.5, fill=SKY)
    canvas.arrow([(x - 10, y), (x - 1.5, y)], stroke=ORANGE, head=5.5)
    canvas.arrow([(x + 10, y), (x + 1.5, y)], stroke=SKY, head=5.5)


def _norm(canvas: Canvas, at: Point) -> None:
    canvas.circle(at, 15, stroke=STAR, stroke_width=1.2, dash="2 3")
    for degrees, colour in ((75, ORANGE), (195, SKY), (315, YELLOW)):
        rim = _around(at, degrees, 15)
        canvas.line([mix(at, rim, 0.2), rim], stroke=colour, width=1.4)
        canvas.circle(rim, 3.6, fill=colour)


def _decay(canvas: Canvas, at: Point) -> None:
    for place, radius, opacity in ((15.0, 5.0, 1.0), (4.0, 3.8, 0.8), (-5.0, 2.8, 0.6), (-12.0, 1.8, 0.45)):
        canvas.circle(_around(at, 35, place), radius, fill=SKY, opacity=opacity)


def _rebirth(canvas: Canvas, at: Point) -> None:
    star = _around(at, 45, 13)
    canvas.circle(_around(at, 225, 9), 2.4, stroke=YELLOW, stroke_width=1.2)
    canvas.line([_around(at, 225, 4), _around(at, 45, 5)], stroke=YELLOW, width=1.3, dash="2 3")
    canvas.circle(star, 4, fill=YELLOW)
    for degrees in range(0, 360, 45):
        canvas.line([_around(star, degrees, 6), _around(star, degrees, 8.5)], stroke=YELLOW, width=1.3)


def _around(at: Point, degrees: float, radius: float) -> Point:
    return at[0] + radius * math.cos(math.radians(degrees)), at[1] - radius * math.sin(math.radians(degrees))


SIGNS: dict[str, Callable[[Canvas, Point], None]] = {
    "attraction": _attraction,
    "peer-pull": _peer_pull,
    "norm": _norm,
    "decay": _decay,
    "rebirth": _rebirth,
}
