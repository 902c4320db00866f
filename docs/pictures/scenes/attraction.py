"""Attraction: two keys on the disk move to the queries that chose them; beside it, how far a key goes in a
step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from drawing.canvas import Canvas
from drawing.chart import Chart, legend
from drawing.disk import Disk
from drawing.palette import BLUE, ORANGE, SKY, VERMILION
from simulation import World, arc, on_rim, ring
from somelab.config import GravityConfig
from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.usage import usage

STEPS = 400
ALONE: dict[str, Any] = {"norm": "none", "decay": False, "peer_pull": False}


def draw() -> Canvas:
    canvas = Canvas(
        960,
        432,
        "Attraction: a key moves towards the queries that chose it",
        "Left: 400 steps of two keys (ring: start; a small dot every 10 steps). Right: how far a key goes "
        "in one step.",
    )
    _draw_disk(canvas)
    _draw_rates(canvas)
    return canvas


def _draw_disk(canvas: Canvas) -> None:
    tokens_TD = torch.cat([arc(28, 62, 13, seed=1), arc(12, 238, 12, seed=2)])
    world = World(ring([142, 312]), GravityConfig(**ALONE), [usage, attraction])
    start_ED = world.state.keys_ED
    states = [start_ED, *(world.read(tokens_TD).state.keys_ED for _ in range(STEPS))]
    disk = Disk(canvas, 32, 92, 308)
    disk.queries(tokens_TD, radius=2.6)
    for key, colour in ((0, ORANGE), (1, SKY)):
        way = [keys_ED[key] for keys_ED in states]
        disk.trail(way, colour, every=10)
        disk.key(way[0], colour, hollow=True)
        disk.key(way[-1], colour)
    disk.text(on_rim(40, 0.72), "28 queries")
    disk.text(on_rim(200, 0.62), "12 queries")


def _draw_rates(canvas: Canvas) -> None:
    chart = Chart(
        canvas,
        430,
        128,
        490,
        228,
        across=(0, STEPS),
        up=(0.008, 4),
        ticks_across=[0, 100, 200, 300, 400],
        ticks_up=[0.01, 0.1, 1],
        name_across="step",
        name_up="share of the way to the mean, per step (log scale)",
        log=True,
    )
    steps = range(STEPS)
    steep, without_cap = _rates(1536, alpha=0.015, ema_decay=0.995)
    chart.line(steps, without_cap, VERMILION, width=1.6, dash="5 4")
    chart.line(steps, steep, VERMILION)
    chart.line(steps, _rates(1536, alpha=0.01, ema_decay=0.99)[0], BLUE)
    chart.line(steps, _rates(28, alpha=0.01, ema_decay=0.99)[0], ORANGE)
    chart.note((0, without_cap[0]), f"{without_cap[0]:.2f} without the cap at 1", dx=22, dy=2)
    legend(
        canvas,
        664,
        170,
        [
            (VERMILION, "1,536 choices, alpha 0.015, r 0.995"),
            (BLUE, "1,536 choices, alpha 0.01, r 0.99"),
            (ORANGE, "28 choices, alpha 0.01, r 0.99"),
        ],
    )


def _rates(num: int, *, alpha: float, ema_decay: float) -> tuple[list[float], list[float]]:
    """What the rule does to a key held two units from its queries: the share it goes, and the share before
    the cap."""
    settings = GravityConfig(alpha=alpha, ema_decay=ema_decay, **ALONE)
    held_ED, query_D = ring([180]), on_rim(0)
    world = World(held_ED, settings, [usage, attraction])
    tokens_TD: Tensor = query_D.expand(num, 2)
    gone, uncapped = [], []
    for _ in range(STEPS):
        world.state = replace(world.state, keys_ED=held_ED)
        moved_D = world.read(tokens_TD).state.keys_ED[0] - held_ED[0]
        gone.append(float(moved_D.norm() / (query_D - held_ED[0]).norm()))
        uncapped.append(alpha * num / (1 + float(world.state.usage_E[0])))
    return gone, uncapped
