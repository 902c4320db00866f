"""Statistics: five tokens choose two of four experts each, one token is padding; what n, m, S and C then
hold."""

from __future__ import annotations

import torch
from torch import Tensor

from drawing.canvas import Canvas
from drawing.disk import Disk
from drawing.palette import BLUE, EDGE, FAINT, INK, MUTED, ORANGE, PURPLE, SKY, YELLOW
from simulation import ring
from somelab.config import GravityConfig, RouterConfig
from somelab.core.router import Router, Routing
from somelab.core.statistics import RoutingStatistics

NUM_EXPERTS, TOP_K = 4, 2
WORDS = ("the", "fox", "ran", "home", "[pad]")
SHADES = (ORANGE, SKY, PURPLE, YELLOW)


def draw() -> Canvas:
    canvas = Canvas(
        960,
        420,
        "Statistics: what a step remembers of its tokens",
        "Five tokens, four experts, K = 2. Padding is routed like any token and never counted.",
    )
    keys_ED, tokens_TD = ring([20, 100, 170, 290]), ring([45, 75, 140, 120, 250])
    router = Router(2, TOP_K, RouterConfig(kind="none", temperature=0.25), seed=0, layer=0)
    routing = router(tokens_TD, keys_ED, torch.zeros(NUM_EXPERTS), torch.zeros(2))
    statistics = RoutingStatistics(NUM_EXPERTS, 2, GravityConfig())
    counted_T = torch.tensor([word != "[pad]" for word in WORDS])
    statistics.add_(routing, step=0, counted_T=counted_T, token_index_T=None)
    _draw_tokens(canvas, routing, counted_T)
    _draw_counts(canvas, statistics)
    _draw_pairs(canvas, statistics.pairs.dense())
    _draw_sums(canvas, keys_ED, tokens_TD[counted_T], statistics)
    return canvas


def _draw_tokens(canvas: Canvas, routing: Routing, counted_T: Tensor) -> None:
    canvas.text(32, 112, "token", size=12.5, weight=600)
    canvas.text(112, 112, "chosen experts and gates", size=12.5, weight=600)
    for row, word in enumerate(WORDS):
        y = 146 + row * 44
        counts = bool(counted_T[row])
        canvas.text(32, y, word, size=14, fill=INK if counts else FAINT)
        for slot in range(TOP_K):
            expert, gate = int(routing.indices_TK[row, slot]), float(routing.gates_TK[row, slot])
            x = 112 + slot * 88
            canvas.circle(
                (x + 11, y - 5),
                11,
                fill=SHADES[expert],
                stroke=INK,
                stroke_width=0.8,
                opacity=1 if counts else 0.3,
            )
            canvas.text(
                x + 11,
                y - 0.5,
                str(expert),
                size=12,
                weight=700,
                fill=INK if counts else FAINT,
                anchor="middle",
            )
            canvas.text(x + 28, y, f"{gate:.2f}", size=13, fill=INK if counts else FAINT)


def _draw_counts(canvas: Canvas, statistics: RoutingStatistics) -> None:
    canvas.text(312, 112, "expert", size=12.5, weight=600)
    canvas.text(372, 112, "n", size=13, weight=700)
    canvas.text(412, 112, "m", size=13, weight=700)
    for expert in range(NUM_EXPERTS):
        y = 146 + expert * 44
        canvas.circle((323, y - 5), 11, fill=SHADES[expert], stroke=INK, stroke_width=0.8)
        canvas.text(323, y - 0.5, str(expert), size=12, weight=700, anchor="middle")
        canvas.text(372, y, f"{int(statistics.count_E[expert])}", size=14)
        canvas.text(412, y, f"{float(statistics.mass_E[expert]):.2f}", size=14)
    canvas.lines(312, 322, ("n: times chosen", "m: sum of gates"), size=12, fill=MUTED)


def _draw_pairs(canvas: Canvas, pairs_EE: Tensor) -> None:
    canvas.text(478, 112, "C: tokens that chose both", size=12.5, weight=600)
    for first in range(NUM_EXPERTS):
        for second in range(NUM_EXPERTS):
            count, x, y = int(pairs_EE[first, second]), 478 + second * 44, 126 + first * 44
            fill = BLUE if count else "#FFFFFF"
            canvas.rect(
                x,
                y,
                40,
                40,
                radius=5,
                fill=fill,
                stroke=EDGE,
                opacity=None if not count else min(1.0, 0.45 + 0.2 * count),
            )
            if first != second:
                canvas.text(
                    x + 20, y + 25, str(count), size=14, fill="#FFFFFF" if count else FAINT, anchor="middle"
                )
    canvas.lines(478, 322, ("symmetric;", "the diagonal stays empty"), size=12, fill=MUTED)


def _draw_sums(canvas: Canvas, keys_ED: Tensor, tokens_TD: Tensor, statistics: RoutingStatistics) -> None:
    disk = Disk(canvas, 684, 92, 244, caption="S / n: mean queries")
    disk.queries(tokens_TD, radius=3)
    for expert in range(NUM_EXPERTS):
        disk.key(keys_ED[expert], SHADES[expert], radius=6)
        if statistics.count_E[expert]:
            mean_D = statistics.pull_sum_ED[expert] / statistics.pull_weight_E[expert]
            x, y = disk.at(mean_D)
            canvas.line([disk.at(keys_ED[expert]), (x, y)], stroke=SHADES[expert], width=1.2, dash="3 4")
            canvas.circle((x, y), 4.5, stroke=SHADES[expert], stroke_width=2)
    canvas.lines(
        684,
        358,
        ("dot: key; ring: mean of the queries", "that chose it, where attraction leads"),
        size=12,
        fill=MUTED,
    )
