"""The router: one query's scores against all keys, the K that are chosen, and their gates at several
temperatures."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional as F

from drawing.canvas import Canvas
from drawing.chart import Chart
from drawing.palette import BLUE, FAINT, GRID, MUTED, ORANGE
from somelab.config import RouterConfig
from somelab.core.measures import gate_entropy
from somelab.core.router import Router, Routing

D_MODEL, NUM_EXPERTS, TOP_K = 64, 24, 4
KINDS = (
    ("softmax, temperature 1", {"temperature": 1.0}),
    ("softmax, temperature 0.1", {"temperature": 0.1}),
    ("sigmoid, temperature 0.1", {"temperature": 0.1, "gates": "sigmoid"}),
)


def draw() -> Canvas:
    canvas = Canvas(
        960,
        420,
        "The router: a query is compared with every key, and the K best are selected",
        f"One token among {NUM_EXPERTS} random keys of width {D_MODEL}, K = {TOP_K}. The gates are those of "
        "the same four scores.",
    )
    rng = torch.Generator().manual_seed(11)
    keys_ED = F.normalize(torch.randn(NUM_EXPERTS, D_MODEL, generator=rng), dim=1)
    token_TD = torch.randn(1, D_MODEL, generator=rng)
    routing = _route(token_TD, keys_ED, {})
    _draw_scores(canvas, (routing.queries_TD @ keys_ED.T)[0].tolist(), routing.indices_TK[0].tolist())
    for index, (words, settings) in enumerate(KINDS):
        _draw_gates(canvas, 140 + index * 94, words, _route(token_TD, keys_ED, settings))
    return canvas


@torch.no_grad()
def _route(token_TD: torch.Tensor, keys_ED: torch.Tensor, settings: dict[str, Any]) -> Routing:
    router = Router(D_MODEL, TOP_K, RouterConfig(**settings), seed=0, layer=0)
    return router(token_TD, keys_ED, torch.zeros(NUM_EXPERTS), torch.zeros(D_MODEL))


def _draw_scores(canvas: Canvas, scores: list[float], chosen: list[int]) -> None:
    chart = Chart(
        canvas,
        84,
        128,
        430,
        228,
        across=(0, NUM_EXPERTS),
        up=(-0.4, 0.4),
        ticks_across=[],
        ticks_up=[-0.4, -0.2, 0, 0.2, 0.4],
        name_across="experts",
        name_up="score: cosine of query and key",
    )
    zero = chart.at((0, 0))[1]
    canvas.line([(84, zero), (514, zero)], stroke=FAINT, width=1)
    for expert, score in enumerate(scores):
        x, y = chart.at((expert + 0.15, score))
        colour = ORANGE if expert in chosen else BLUE
        canvas.rect(x, min(y, zero), 0.7 * 430 / NUM_EXPERTS, abs(y - zero), fill=colour)
        if expert in chosen:
            canvas.text(x + 6.2, y - 7, str(chosen.index(expert) + 1), size=12, weight=700, anchor="middle")


def _draw_gates(canvas: Canvas, y: float, words: str, routing: Routing) -> None:
    """The four gates as parts of one bar; a full bar is a sum of 1."""
    canvas.text(572, y - 20, words, size=12.5, weight=600)
    entropy = float(gate_entropy(routing.gates_TK))
    total = float(routing.gates_TK.sum())
    canvas.text(
        572,
        y + 46,
        f"sum {total:.2f}, gate entropy {entropy:.3f} of at most {math.log(TOP_K):.3f} nats",
        size=12,
        fill=MUTED,
    )
    scale, x = 200.0, 572.0
    canvas.rect(572, y - 8, scale, 34, radius=4, fill=GRID)
    for rank, gate in enumerate(routing.gates_TK[0].tolist()):
        canvas.rect(
            x,
            y - 8,
            scale * gate,
            34,
            fill=ORANGE,
            stroke="#FFFFFF",
            stroke_width=1.5,
            opacity=1 - 0.16 * rank,
        )
        if scale * gate > 40:
            canvas.text(x + scale * gate / 2, y + 14, f"{gate:.2f}", size=12, anchor="middle")
        x += scale * gate
