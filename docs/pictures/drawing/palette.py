"""The colours of all pictures: Okabe and Ito's palette, which colour-blind readers can tell apart, and a few
neutrals. Maps of keys are drawn on a night sky, everything over time on paper; both sit on a panel of their
own."""

from __future__ import annotations

import itertools

ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"

PAPER, EDGE, CARD = "#FBFAF7", "#DDDAD1", "#FFFFFF"
INK, MUTED, FAINT, GRID = "#1B2333", "#5A6274", "#A3A9B5", "#E7E5DE"
NIGHT, NIGHT_LINE, STAR, NIGHT_TEXT = "#111A2E", "#33415F", "#AEBBD4", "#DCE4F2"

_RAMP = ((0.0, (62, 92, 150)), (0.45, (86, 180, 233)), (1.0, (240, 228, 66)))


def ramp(share: float) -> str:
    """From dim blue over sky blue to yellow, for amounts between 0 and 1; the order survives every kind of
    colour vision."""
    share = min(1.0, max(0.0, share))
    for (low, start), (high, end) in itertools.pairwise(_RAMP):
        if share <= high:
            part = (share - low) / (high - low)
            return "#" + "".join(f"{round(a + part * (b - a)):02X}" for a, b in zip(start, end, strict=True))
    raise AssertionError(share)
