"""Guilds: co-activation, the communities found in it, and what two groupings of the same words share with
word classes."""

from __future__ import annotations

import numpy as np

from drawing.canvas import Canvas
from drawing.palette import BLUE, EDGE, FAINT, GREEN, INK, MUTED, VERMILION
from somelab.analysis.coactivation import pair_counts, similarity
from somelab.analysis.guilds import find_guilds
from somelab.analysis.information import Information, information

NUM_EXPERTS, GUILD_SIZE, TOP_K = 16, 4, 2
NUM_WORDS, NUM_CLASSES = 60, 4
CELL = 15


def draw() -> Canvas:
    canvas = Canvas(
        960,
        430,
        "Guilds: experts selected together more often than by chance",
        "16 experts, K = 2; four guilds are hidden among them, and a third of the tokens choose across "
        "guilds.",
    )
    counts_EE = pair_counts(_tokens(), NUM_EXPERTS)
    guild_E, quality = find_guilds(counts_EE)
    order = np.lexsort((np.arange(NUM_EXPERTS), guild_E))
    _draw_matrix(canvas, 32, "C, as it is counted", counts_EE, np.arange(NUM_EXPERTS))
    _draw_matrix(canvas, 330, "the same, sorted by guild", counts_EE, order)
    start = 0
    for guild in range(int(guild_E.max()) + 1):
        size = int((guild_E == guild).sum())
        canvas.rect(
            330 + start * CELL,
            130 + start * CELL,
            size * CELL,
            size * CELL,
            stroke=VERMILION,
            stroke_width=1.8,
        )
        start += size
    canvas.text(32, 396, "dark: two experts are often selected together", size=12, fill=MUTED)
    canvas.text(330, 396, f"{int(guild_E.max()) + 1} guilds, modularity {quality:.2f}", size=12, fill=MUTED)
    _draw_information(canvas)
    return canvas


def _tokens() -> np.ndarray:
    """Pairs of experts, out of one guild or, for a third of the tokens, out of all; numbered so that guilds
    are hidden."""
    rng = np.random.default_rng(0)
    hidden = rng.permutation(NUM_EXPERTS)
    rows: list[list[int]] = []
    for _ in range(1500):
        pool = (
            np.arange(NUM_EXPERTS)
            if rng.random() < 1 / 3
            else rng.integers(4) * GUILD_SIZE + np.arange(GUILD_SIZE)
        )
        rows.append(hidden[rng.choice(pool, TOP_K, replace=False)].tolist())
    return np.array(rows)


def _draw_matrix(canvas: Canvas, left: float, title: str, counts_EE: np.ndarray, order: np.ndarray) -> None:
    canvas.text(left, 112, title, size=12.5, weight=600)
    canvas.rect(left, 130, NUM_EXPERTS * CELL, NUM_EXPERTS * CELL, fill="#FFFFFF", stroke=EDGE)
    together_EE = similarity(counts_EE)[np.ix_(order, order)]
    strongest = float((together_EE - np.diag(np.diag(together_EE))).max())
    for row in range(NUM_EXPERTS):
        for column in range(NUM_EXPERTS):
            share = 1.0 if row == column else float(together_EE[row, column]) / strongest
            if share > 0.05:
                fill = FAINT if row == column else BLUE
                canvas.rect(
                    left + column * CELL, 130 + row * CELL, CELL - 1, CELL - 1, fill=fill, opacity=share
                )


def _draw_information(canvas: Canvas) -> None:
    """Two groupings of the same text: one knows word forms only, the other word classes."""
    rng = np.random.default_rng(1)
    weight = 1 / (1 + np.arange(NUM_WORDS))
    words_N = rng.choice(NUM_WORDS, size=4000, p=weight / weight.sum())
    class_W = rng.integers(NUM_CLASSES, size=NUM_WORDS)
    by_form_W = rng.integers(6, size=NUM_WORDS)
    by_class_W = np.where(rng.random(NUM_WORDS) < 0.75, class_W, by_form_W)
    canvas.text(630, 112, "what guilds share with word classes", size=12.5, weight=600)
    for place, (group_W, title) in enumerate(((by_form_W, "by word form"), (by_class_W, "by word class"))):
        found = information(group_W[words_N], class_W[words_N], words_N, np.arange(4000) // 40)
        assert found is not None
        _draw_column(canvas, 700 + place * 130, found, title)
    canvas.line([(640, 370), (928, 370)], stroke=INK, width=1)
    canvas.text(630, 134, "NMI", size=12, fill=MUTED)
    canvas.text(864, 300, "forms alone", size=11.5, fill=MUTED, anchor="start")
    canvas.text(864, 362, "shuffled", size=11.5, fill=VERMILION, anchor="start")


def _draw_column(canvas: Canvas, x: float, found: Information, title: str) -> None:
    def height(value: float) -> float:
        return 370 - value * 440

    top, bottom = height(found.by_word_high), height(found.by_word_low)
    canvas.rect(x - 26, top, 52, bottom - top, radius=3, fill=FAINT, opacity=0.5)
    canvas.line(
        [(x - 26, height(found.shuffled_mean)), (x + 26, height(found.shuffled_mean))],
        stroke=VERMILION,
        width=3,
    )
    canvas.line([(x, height(found.low)), (x, height(found.high))], stroke=GREEN, width=2)
    canvas.circle((x, height(found.value)), 6, fill=GREEN)
    canvas.text(x - 34, height(found.value) + 4, f"{found.value:.2f}", size=12.5, weight=600, anchor="end")
    canvas.text(x, 394, title, size=12.5, anchor="middle")
