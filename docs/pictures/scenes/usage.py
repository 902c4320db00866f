"""Usage: an expert that is busy, forgotten and found again, as a moving average and as a sum; and what
attraction makes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drawing.canvas import Canvas
from drawing.chart import Chart, legend
from drawing.palette import BLUE, GRID, ORANGE, VERMILION
from simulation import World, on_rim, ring
from somelab.config import GravityConfig
from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.usage import usage

BUSY, QUIET, STEPS, CHOICES = 300, 600, 900, 64
MEMORIES = (
    (BLUE, "moving average, r = 0.99", {"usage": "ema", "ema_decay": 0.99}),
    (ORANGE, "moving average, r = 0.995", {"usage": "ema", "ema_decay": 0.995}),
    (VERMILION, "sum since the start (v1)", {"usage": "cumulative"}),
)


def draw() -> Canvas:
    canvas = Canvas(
        960,
        446,
        "Usage: how much an expert is chosen, and so how hard its key is to move",
        f"An expert is chosen {CHOICES} times a step, then for 300 steps by nobody (shaded), then {CHOICES} "
        "times again.",
    )
    axes: dict[str, Any] = {
        "across": (0, STEPS),
        "ticks_across": [0, 300, 600, 900],
        "name_across": "step",
        "log": True,
    }
    _shade(canvas, 84, 128, 380, 230)
    _shade(canvas, 540, 128, 380, 230)
    use = Chart(
        canvas,
        84,
        128,
        380,
        230,
        up=(0.5, 50000),
        ticks_up=[1, 10, 100, 1000, 10000],
        name_up="usage u (log scale)",
        **axes,
    )
    rate = Chart(
        canvas,
        540,
        128,
        380,
        230,
        up=(0.00001, 1),
        ticks_up=[0.0001, 0.001, 0.01, 0.1, 1],
        name_up="attraction's share of the way (log scale)",
        **axes,
    )
    for colour, _, memory in MEMORIES:
        used, gone = _history(memory)
        use.line(range(STEPS), used, colour)
        for span in (range(BUSY), range(QUIET, STEPS)):
            rate.line(span, [gone[step] for step in span], colour)
    for index, (colour, words, _) in enumerate(MEMORIES):
        legend(canvas, 84 + index * 250, 424, [(colour, words)])
    return canvas


def _shade(canvas: Canvas, x: float, y: float, width: float, height: float) -> None:
    canvas.rect(x + width * BUSY / STEPS, y, width * (QUIET - BUSY) / STEPS, height, fill=GRID, opacity=0.6)


def _history(memory: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Usage after each step, and the share of the way that attraction takes a key held at its place."""
    settings = GravityConfig(norm="none", decay=False, peer_pull=False, **memory)
    held_ED = ring([180, 90])
    world = World(held_ED, settings, [usage, attraction])
    mine_TD, other_TD = on_rim(160).expand(CHOICES, 2), on_rim(90).expand(CHOICES, 2)
    used, gone = [], []
    for step in range(STEPS):
        world.state = replace(world.state, keys_ED=held_ED)
        moved_D = world.read(other_TD if BUSY <= step < QUIET else mine_TD).state.keys_ED[0] - held_ED[0]
        used.append(float(world.state.usage_E[0]))
        gone.append(float(moved_D.norm() / (on_rim(160) - held_ED[0]).norm()))
    return used, gone
