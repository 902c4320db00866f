"""A canvas that collects SVG elements and writes them as one file: absolute coordinates, rounded, in the
order drawn. No transforms and no style sheets, so that a test can read where each word stands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from drawing.palette import EDGE, INK, MUTED, PAPER

Point = tuple[float, float]
FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, sans-serif"


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel, without needless digits."""
    return f"{round(value, 1) + 0.0:g}"


class Canvas:
    """One picture on its own panel, with a title for people and one for screen readers."""

    def __init__(self, width: int, height: int, title: str, about: str, *, heading: bool = True) -> None:
        self.width, self.height, self.title, self.about = width, height, title, about
        self.elements: list[str] = []
        self.rect(0.5, 0.5, width - 1, height - 1, radius=14, fill=PAPER, stroke=EDGE)
        if heading:
            self.text(32, 44, title, size=20, weight=700)
            self.text(32, 68, about, size=13.5, fill=MUTED)

    def add(self, tag: str, **attributes: str | float | None) -> None:
        """Any element without content. Underscores in names become hyphens; None leaves an attribute out."""
        given = {key: value for key, value in attributes.items() if value is not None}
        texts = {
            key: number(value) if isinstance(value, int | float) else value for key, value in given.items()
        }
        written = " ".join(f"{key.replace('_', '-')}={quoteattr(value)}" for key, value in texts.items())
        self.elements.append(f"<{tag} {written}/>")

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        radius: float = 0,
        fill: str = "none",
        stroke: str | None = None,
        stroke_width: float | None = None,
        opacity: float | None = None,
        dash: str | None = None,
    ) -> None:
        self.add(
            "rect",
            x=x,
            y=y,
            width=width,
            height=height,
            rx=radius or None,
            fill=fill,
            stroke=stroke,
            stroke_width=stroke_width,
            opacity=_share(opacity),
            stroke_dasharray=dash,
        )

    def circle(
        self,
        at: Point,
        radius: float,
        *,
        fill: str = "none",
        stroke: str | None = None,
        stroke_width: float | None = None,
        opacity: float | None = None,
        dash: str | None = None,
    ) -> None:
        self.add(
            "circle",
            cx=at[0],
            cy=at[1],
            r=radius,
            fill=fill,
            stroke=stroke,
            stroke_width=stroke_width,
            opacity=_share(opacity),
            stroke_dasharray=dash,
        )

    def path(
        self,
        steps: str,
        *,
        stroke: str | None = None,
        width: float = 1.5,
        fill: str = "none",
        opacity: float | None = None,
        dash: str | None = None,
    ) -> None:
        """An SVG path as it is; `outline` and `smooth` below write common ones."""
        self.add(
            "path",
            d=steps,
            fill=fill,
            stroke=stroke,
            stroke_width=width if stroke else None,
            stroke_linecap="round" if stroke else None,
            stroke_linejoin="round" if stroke else None,
            opacity=_share(opacity),
            stroke_dasharray=dash,
        )

    def line(
        self, points: Sequence[Point], *, stroke: str = INK, width: float = 1.5, **style: str | float | None
    ) -> None:
        self.path(outline(points), stroke=stroke, width=width, **style)  # pyright: ignore[reportArgumentType]

    def arrow(
        self,
        points: Sequence[Point],
        *,
        stroke: str = INK,
        width: float = 1.6,
        head: float = 7,
        dash: str | None = None,
    ) -> None:
        """A line through the points that ends in a filled head; the line stops inside the head, so the tip
        stays sharp."""
        (x0, y0), (x1, y1) = points[-2:]
        length = math.hypot(x1 - x0, y1 - y0) or 1.0
        along, across = ((x1 - x0) / length, (y1 - y0) / length), (-(y1 - y0) / length, (x1 - x0) / length)
        base = (x1 - along[0] * head, y1 - along[1] * head)
        self.line([*points[:-1], base], stroke=stroke, width=width, dash=dash)
        wings = [
            (base[0] + side * across[0] * head * 0.55, base[1] + side * across[1] * head * 0.55)
            for side in (1, -1)
        ]
        self.path(outline([(x1, y1), *wings], closed=True), fill=stroke)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 13,
        weight: int = 400,
        fill: str = INK,
        anchor: str = "start",
    ) -> None:
        style = f'font-size="{number(size)}"' + (f' font-weight="{weight}"' if weight != 400 else "")
        place = f'x="{number(x)}" y="{number(y)}"' + (f' text-anchor="{anchor}"' if anchor != "start" else "")
        self.elements.append(f'<text {place} {style} fill="{fill}">{escape(words)}</text>')

    def lines(
        self,
        x: float,
        y: float,
        words: Iterable[str],
        *,
        size: float = 13,
        leading: float = 1.45,
        **style: str | int,
    ) -> None:
        """Several lines of text, one below the other."""
        for index, line in enumerate(words):
            self.text(x, y + index * size * leading, line, size=size, **style)  # pyright: ignore[reportArgumentType]

    def svg(self) -> str:
        body = "\n".join(f"  {element}" for element in self.elements)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}"'
            f' width="{self.width}" height="{self.height}" role="img" font-family="{FONT}">\n'
            f"  <title>{escape(self.title)}</title>\n  <desc>{escape(self.about)}</desc>\n{body}\n</svg>\n"
        )

    def write(self, path: Path) -> None:
        path.write_text(self.svg(), encoding="utf-8")


def _share(value: float | None) -> str | None:
    """Opacities need two digits where coordinates need one."""
    return None if value is None else f"{value:.2g}"


def outline(points: Sequence[Point], *, closed: bool = False) -> str:
    """A path of straight lines."""
    return "M" + " L".join(f"{number(x)} {number(y)}" for x, y in points) + (" Z" if closed else "")


def mix(start: Point, end: Point, share: float) -> Point:
    """The point that divides a line in that share."""
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
