"""Step cap: the first steps of attraction are leaps; a cap turns them into a walk."""

from __future__ import annotations

import itertools

from torch import Tensor

from drawing.canvas import Canvas
from drawing.chart import Chart, legend
from drawing.disk import Disk
from drawing.palette import BLUE, ORANGE, SKY, VERMILION
from simulation import World, arc, ring
from somelab.config import GravityConfig
from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.norm import norm
from somelab.core.gravity.step_cap import step_cap
from somelab.core.gravity.usage import usage

STEPS, CAP = 60, 0.05


def draw() -> Canvas:
    canvas = Canvas(
        960,
        420,
        "Step cap: a limit on how far a key goes in one step",
        "One key, 1,536 queries a step, 60 steps of attraction and norm; a small dot every step. Cap: "
        f"{CAP}.",
    )
    chart = Chart(
        canvas,
        712,
        128,
        192,
        216,
        across=(0, STEPS),
        up=(0.0001, 2),
        ticks_across=[0, 20, 40, 60],
        ticks_up=[0.0001, 0.001, 0.01, 0.1, 1],
        name_across="step",
        name_up="distance moved (log scale)",
        log=True,
    )
    for x, caption, cap, shade, colour in (
        (32, "no cap", None, ORANGE, VERMILION),
        (340, f"cap {CAP}", CAP, SKY, BLUE),
    ):
        way = _run(cap)
        disk = Disk(canvas, x, 92, 288, caption=caption)
        disk.queries(_tokens()[:60], radius=2.2)
        disk.trail(way, shade, every=1)
        disk.key(way[0], shade, hollow=True)
        disk.key(way[-1], shade)
        chart.line(range(STEPS), [float((b - a).norm()) for a, b in itertools.pairwise(way)], colour)
    chart.level(CAP, "max_step")
    legend(canvas, 800, 146, [(VERMILION, "no cap"), (BLUE, f"cap {CAP}")])
    return canvas


def _tokens() -> Tensor:
    return arc(1536, 70, 14, seed=6)


def _run(cap: float | None) -> list[Tensor]:
    settings = GravityConfig(max_step=cap, peer_pull=False, decay=False)
    world = World(ring([175]), settings, [usage, attraction, step_cap, norm])
    return [world.state.keys_ED[0], *(world.read(_tokens()).state.keys_ED[0] for _ in range(STEPS))]
