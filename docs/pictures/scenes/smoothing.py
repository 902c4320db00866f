"""Smoothing: a key follows the topic of the hour; the average that tokens are routed by follows the key, more
calmly."""

from __future__ import annotations

import math

from torch import Tensor

from drawing.canvas import Canvas
from drawing.chart import Chart, legend
from drawing.palette import BLUE, GRID, ORANGE, VERMILION
from simulation import World, arc, ring
from somelab.config import GravityConfig
from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.norm import norm
from somelab.core.gravity.usage import usage

STEPS, TURN = 600, 100


def draw() -> Canvas:
    canvas = Canvas(
        960,
        392,
        "Smoothing: route by a moving average of the key",
        "One key; every 100 steps (shaded or not) its queries change between two directions, 40 and 100 "
        "degrees.",
    )
    for start in range(TURN, STEPS, 2 * TURN):
        canvas.rect(84 + 640 * start / STEPS, 128, 640 * TURN / STEPS, 190, fill=GRID, opacity=0.6)
    chart = Chart(
        canvas,
        84,
        128,
        640,
        190,
        across=(0, STEPS),
        up=(30, 110),
        ticks_across=range(0, STEPS + 1, TURN),
        ticks_up=[40, 60, 80, 100],
        name_across="step",
        name_up="direction in degrees",
    )
    lines = []
    for colour, memory in ((BLUE, 0.98), (VERMILION, 0.995)):
        keys, routed = _run(memory)
        lines.append((colour, f"routed by, key_ema {memory}", [_degrees(key) for key in routed]))
    lines.insert(0, (ORANGE, "the key", [_degrees(key) for key in keys]))
    for colour, _, degrees in lines:
        chart.line(range(STEPS + 1), degrees, colour)
    legend(canvas, 752, 148, [(colour, words) for colour, words, _ in lines])
    return canvas


def _degrees(key_D: Tensor) -> float:
    return math.degrees(math.atan2(float(key_D[1]), float(key_D[0])))


def _run(memory: float) -> tuple[list[Tensor], list[Tensor]]:
    """The key and the average that routes, at the start and after each step. One key: all tokens choose
    it."""
    settings = GravityConfig(key_ema=memory, peer_pull=False, decay=False)
    world = World(ring([70]), settings, [usage, attraction, norm])
    topics = [arc(200, 40, 10, seed=8), arc(200, 100, 10, seed=9)]
    states = [world.state, *(world.read(topics[step // TURN % 2]).state for step in range(STEPS))]
    return [state.keys_ED[0] for state in states], [state.routing_keys_ED[0] for state in states]
