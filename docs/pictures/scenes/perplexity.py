"""Perplexity with and without padding: what a padded batch holds, and how it changes a perplexity of 13.5."""

from __future__ import annotations

import math

import torch

from drawing.canvas import Canvas
from drawing.chart import Chart
from drawing.palette import BLUE, EDGE, MUTED, ORANGE, VERMILION

SEQ_LEN, STORY, HONEST = 768, 200, 13.5


def draw() -> Canvas:
    canvas = Canvas(
        960,
        432,
        "Perplexity: counting padding makes any model look good",
        f"Left: eight stories of about {STORY} tokens, padded to {SEQ_LEN}. Right: one model, as more "
        "padding is counted.",
    )
    lengths = (
        torch.normal(float(STORY), 45.0, (8,), generator=torch.Generator().manual_seed(1))
        .round()
        .int()
        .tolist()
    )
    for row, length in enumerate(lengths):
        y = 112 + row * 30
        canvas.rect(48, y, 340, 18, radius=4, fill=EDGE)
        canvas.rect(48, y, 340 * length / SEQ_LEN, 18, radius=4, fill=BLUE)
    canvas.text(48, 376, f"{sum(lengths):,} tokens of text", size=12.5, weight=600, fill=BLUE)
    canvas.text(
        388,
        376,
        f"{8 * SEQ_LEN - sum(lengths):,} of padding",
        size=12.5,
        weight=600,
        fill=MUTED,
        anchor="end",
    )
    _draw_curve(canvas)
    return canvas


def _draw_curve(canvas: Canvas) -> None:
    chart = Chart(
        canvas,
        478,
        128,
        430,
        228,
        across=(0, 1),
        up=(0, 15),
        ticks_across=[0, 0.25, 0.5, 0.75, 1],
        ticks_up=[0, 5, 10, 15],
        name_across="share of the counted tokens that is padding",
        name_up="perplexity",
    )
    shares = [step / 100 for step in range(101)]
    chart.line(shares, [perplexity_with_padding(share) for share in shares], VERMILION)
    chart.marker((0, HONEST), BLUE, radius=5)
    chart.note((0, HONEST), f"val_ppl {HONEST}", dx=14, dy=2)
    padded = 1 - STORY / SEQ_LEN
    chart.marker((padded, perplexity_with_padding(padded)), ORANGE, radius=5)
    chart.note(
        (padded, perplexity_with_padding(padded)),
        f"ppl_with_padding {perplexity_with_padding(padded):.2f}",
        dx=-4,
        dy=-16,
        anchor="middle",
    )


def perplexity_with_padding(padding: float) -> float:
    """exp of the mean loss over all places, where padding costs nothing and text what it costs the model."""
    return math.exp((1 - padding) * math.log(HONEST))
