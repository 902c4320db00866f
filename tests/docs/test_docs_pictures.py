"""The pictures show what the code does now: they are drawn anew and compared. And no word is cut off or
overlaps another."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

PICTURES = Path(__file__).parents[2] / "docs/pictures"
SVG = "{http://www.w3.org/2000/svg}"
PART = re.compile(r"#[0-9A-F]{6}|-?\d[\d,]*(?:\.\d+)?")
# Other processors round the last bits otherwise: a coordinate may differ by a part of a pixel, a colour by a
# shade, a measure by its last digit.
PIXELS, SHADES, SHARE = 0.5, 6, 0.02


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    subprocess.run([sys.executable, str(PICTURES / "draw.py"), str(folder)], check=True, capture_output=True)
    return folder


def described(path: Path) -> list[tuple[str, str]]:
    """A picture as (tag and attribute, value) in the order drawn; the words of an element count as an
    attribute."""
    found: list[tuple[str, str]] = []
    for element in ElementTree.fromstring(path.read_text(encoding="utf-8")).iter():
        found += [(f"{element.tag} {name}", value) for name, value in element.items()]
        found.append((f"{element.tag} words", (element.text or "").strip()))
    return found


def agree(name: str, then: str, now: str) -> bool:
    """Whether two values of one attribute differ in nothing but the last bits of what was computed."""
    if PART.sub("0", then) != PART.sub("0", now):
        return False
    for one, other in zip(PART.findall(then), PART.findall(now), strict=True):
        if one.startswith("#") != other.startswith("#"):
            return False
        if one.startswith("#"):
            near = all(
                abs(int(one[at : at + 2], 16) - int(other[at : at + 2], 16)) <= SHADES for at in (1, 3, 5)
            )
        else:
            before, after = (float(number.replace(",", "")) for number in (one, other))
            last_digit = 10.0 ** -len(one.partition(".")[2])
            near = abs(before - after) <= (
                last_digit + SHARE * abs(before) if name.endswith(" words") else PIXELS
            )
        if not near:
            return False
    return True


@pytest.mark.slow
def test_the_pictures_are_those_that_the_code_draws(redrawn: Path) -> None:
    assert {path.name for path in redrawn.glob("*.svg")} == {path.name for path in PICTURES.glob("*.svg")}
    for path in sorted(PICTURES.glob("*.svg")):
        drawn, drawn_now = described(path), described(redrawn / path.name)
        assert [name for name, _ in drawn] == [name for name, _ in drawn_now], (
            f"{path.name}: run python docs/pictures/draw.py"
        )
        for (name, then), (_, now) in zip(drawn, drawn_now, strict=True):
            assert agree(name, then, now), (
                f"{path.name}: {then} has become {now}; run python docs/pictures/draw.py and look at it"
            )


def test_the_comparison_tells_a_change_from_rounding() -> None:
    assert agree("path d", "M10.2 900 L3 4", "M10.3 900.1 L3 4")
    assert not agree("path d", "M10.2 900 L3 4", "M10.2 901 L3 4")
    assert agree("circle fill", "#5BA1C3", "#5BA1C4")
    assert not agree("circle fill", "#5BA1C3", "#5BC1C3")
    assert agree("text words", "Gini of use 0.02", "Gini of use 0.03")
    assert not agree("text words", "Gini of use 0.02", "Gini of use 0.05")
    assert not agree("text words", "4 below theta", "4 above theta")


@dataclass(frozen=True)
class Box:
    words: str
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def boxes(root: ElementTree.Element) -> list[Box]:
    """Where words stand, by the widths of a wide font: what fits here fits in every common one."""
    found: list[Box] = []
    for text in root.iter(f"{SVG}text"):
        words, size = text.text or "", float(text.get("font-size", "0"))
        width = _width(words) * size * (1.1 if int(text.get("font-weight", "400")) >= 600 else 1.0)
        shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor", "start")]
        left, base = float(text.get("x", "0")) - shift * width, float(text.get("y", "0"))
        found.append(Box(words, left, base - 0.72 * size, left + width, base + 0.18 * size))
    return found


def _width(words: str) -> float:
    """In units of the font size: narrow, usual and wide letters of DejaVu Sans."""
    return sum(
        0.33 if letter in "iljtf.,:;'|()[] " else 0.9 if letter in "mwMWΣ" else 0.6 for letter in words
    )


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_words_are_on_the_panel_and_apart(path: Path) -> None:
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    width, height = (float(value) for value in root.get("viewBox", "").split()[2:])
    assert root.find(f"{SVG}title") is not None
    assert "sans-serif" in root.get("font-family", "")
    standing = boxes(root)
    assert standing
    for box in standing:
        assert box.left >= 8, f"{box.words} is cut off"
        assert box.right <= width - 8, f"{box.words} is cut off"
        assert box.top >= 8, f"{box.words} is cut off"
        assert box.bottom <= height - 8, f"{box.words} is cut off"
    for one, other in itertools.combinations(standing, 2):
        assert not one.meets(other), f"{one.words} overlaps {other.words}"
