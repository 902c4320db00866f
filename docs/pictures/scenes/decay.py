"""Decay: which experts count as rarely used, and how long a key takes to shrink until it is respawned."""

from __future__ import annotations

import torch

from drawing.canvas import Canvas
from drawing.chart import Chart, legend
from drawing.palette import BLUE, FAINT, GRID, VERMILION
from simulation import World, ring
from somelab.config import GravityConfig
from somelab.core.gravity import Moment
from somelab.core.gravity.decay import decay, threshold
from somelab.core.gravity.usage import usage

NUM_EXPERTS, STEPS = 64, 2500


def draw() -> Canvas:
    canvas = Canvas(
        960,
        432,
        "Decay: keys of too little use shrink",
        "Left: the usage of 64 experts and the threshold at the 0.05 quantile. Right: the length of a key "
        "that nobody uses.",
    )
    _draw_usage(canvas)
    _draw_lengths(canvas)
    return canvas


def _draw_usage(canvas: Canvas) -> None:
    usage_E = _usages()
    now = Moment(GravityConfig(), 0, 1, 1000, 0.0, 0, torch.zeros(NUM_EXPERTS, 16))
    theta = float(threshold(usage_E, now))
    chart = Chart(
        canvas,
        78,
        128,
        352,
        222,
        across=(0, NUM_EXPERTS),
        up=(0, 50),
        ticks_across=[],
        ticks_up=[0, 10, 20, 30, 40, 50],
        name_across="experts, from least to most used",
        name_up="usage u",
    )
    ascending = usage_E.sort().values.tolist()
    for rank, use in enumerate(ascending):
        x, top = chart.at((rank + 0.15, use))
        colour = VERMILION if use < theta else BLUE
        canvas.rect(
            x,
            min(top, chart.y + chart.height - 1.5),
            0.7 * chart.width / NUM_EXPERTS,
            max(1.5, chart.y + chart.height - top),
            fill=colour,
        )
    weak = sum(use < theta for use in ascending)
    legend(
        canvas,
        92,
        152,
        [
            (VERMILION, f"{weak} below theta = {theta:.1f}: they shrink"),
            (BLUE, "the others keep their length"),
        ],
    )


def _usages() -> torch.Tensor:
    """Usage of a pool that reads tokens of a few kinds, after 300 steps."""
    rng = torch.Generator().manual_seed(5)
    keys_ED = torch.nn.functional.normalize(torch.randn(NUM_EXPERTS, 16, generator=rng), dim=1)
    world = World(keys_ED, GravityConfig(), [usage], top_k=4)
    kinds_KD = torch.randn(12, 16, generator=rng)
    for _ in range(300):
        drawn = torch.randint(12, (256,), generator=rng)
        world.read(kinds_KD[drawn] + 0.9 * torch.randn(256, 16, generator=rng))
    return world.state.usage_E


def _draw_lengths(canvas: Canvas) -> None:
    chart = Chart(
        canvas,
        530,
        128,
        390,
        222,
        across=(0, STEPS),
        up=(0, 1.05),
        ticks_across=[0, 500, 1000, 1500, 2000, 2500],
        ticks_up=[0, 0.5, 1],
        name_across="step (400 of warm-up, shaded)",
        name_up="length of a key without use",
    )
    canvas.rect(530, 128, 390 * 400 / STEPS, 222, fill=GRID, opacity=0.6)
    for colour, delta in ((BLUE, 0.001), (VERMILION, 0.005)):
        lengths = _lengths(delta)
        chart.line(range(STEPS + 1), lengths, colour)
        below = next((step for step, length in enumerate(lengths) if length < 0.1), None)
        if below is not None:
            chart.marker((below, lengths[below]), colour)
            chart.note((below, lengths[below]), f"below 0.1 at step {below:,}", dx=8, dy=-22)
    chart.level(0.1, "threshold 0.1", colour=FAINT, anchor="start")
    legend(canvas, 776, 150, [(BLUE, "delta 0.001"), (VERMILION, "delta 0.005")])


def _lengths(delta: float) -> list[float]:
    settings = GravityConfig(delta=delta, theta=1.0, theta_percentile=None, norm="none")
    world = World(ring([90, 270]), settings, [usage, decay])
    tokens_TD = ring([270.0] * 4)
    return [1.0, *(float(world.read(tokens_TD).state.keys_ED[0].norm()) for _ in range(STEPS))]
