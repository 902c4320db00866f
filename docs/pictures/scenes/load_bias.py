"""Load bias: how often eight fixed keys are chosen with and without a bias on the selection, and the bias
itself."""

from __future__ import annotations

from typing import Any

import torch

from drawing.canvas import Canvas
from drawing.chart import Chart
from drawing.palette import BLUE, GREEN, INK, MUTED, ORANGE, PURPLE, SKY, VERMILION
from simulation import World, ring
from somelab.config import GravityConfig
from somelab.core.gravity.load_bias import load_bias

STEPS, NUM_EXPERTS, RATE = 320, 8, 0.005
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, MUTED, INK)


def draw() -> Canvas:
    canvas = Canvas(
        960,
        412,
        "Load bias: neglected experts are selected more readily, busy ones less",
        "Eight keys that do not move, K = 1, tokens crowded on one side. One line an expert; the step of "
        f"the bias is {RATE}.",
    )
    axes: dict[str, Any] = {"across": (0, STEPS), "ticks_across": [0, 160, 320], "name_across": "step"}
    shares: dict[str, Any] = {"up": (0, 0.5), "ticks_up": [0, 0.125, 0.25, 0.375, 0.5]}
    without = Chart(canvas, 84, 132, 232, 200, name_up="share of the tokens, without", **shares, **axes)
    with_bias = Chart(canvas, 392, 132, 232, 200, name_up="share of the tokens, with", **shares, **axes)
    bias = Chart(
        canvas,
        694,
        132,
        232,
        200,
        name_up="bias on the score",
        up=(-1.1, 1.1),
        ticks_up=[-1, -0.5, 0, 0.5, 1],
        **axes,
    )
    for chart, rate in ((without, 0.0), (with_bias, RATE)):
        share_SE, bias_SE = _run(rate)
        for expert, colour in enumerate(COLOURS):
            chart.line(range(STEPS), share_SE[:, expert].tolist(), colour, width=1.6)
            if rate:
                bias.line(range(STEPS), bias_SE[:, expert].tolist(), colour, width=1.6)
    return canvas


def _run(rate: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Shares and biases, one row a step (S)."""
    rng = torch.Generator().manual_seed(3)
    world = World(ring([45 * key for key in range(NUM_EXPERTS)]), GravityConfig(load_bias=rate), [load_bias])
    shares, biases = [], []
    for _ in range(STEPS):
        glimpse = world.read(torch.randn(1024, 2, generator=rng) + torch.tensor([0.9, 0.5]))
        shares.append(glimpse.count_E / glimpse.count_E.sum())
        biases.append(glimpse.state.load_bias_E)
    return torch.stack(shares), torch.stack(biases)
