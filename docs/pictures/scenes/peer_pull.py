"""Peer-pull: the three keys of a guild fuse into one point; the same three with a cosine at which the pull
stops."""

from __future__ import annotations

import torch
from torch import Tensor

from drawing.canvas import Canvas
from drawing.chart import Chart, legend
from drawing.disk import Disk
from drawing.palette import BLUE, ORANGE, PURPLE, SKY, VERMILION
from simulation import World, arc, ring
from somelab.config import GravityConfig
from somelab.core.gravity.norm import norm
from somelab.core.gravity.peer_pull import peer_pull
from somelab.core.gravity.usage import usage

STEPS, UNTIL = 60, 0.8
START = [5.0, 62.0, 138.0]


def draw() -> Canvas:
    canvas = Canvas(
        960,
        420,
        "Peer-pull: keys chosen together move together, and without a limit they fuse",
        "Three keys that the same tokens choose (K = 3), 60 steps; nothing but peer-pull and the norm acts.",
    )
    chart = Chart(
        canvas,
        690,
        128,
        206,
        216,
        across=(0, STEPS),
        up=(0, 1.02),
        ticks_across=[0, 20, 40, 60],
        ticks_up=[0, 0.25, 0.5, 0.75, 1],
        name_across="step",
        name_up="mean cosine of the three keys",
    )
    for x, caption, until, colour in (
        (32, "pull without end", None, VERMILION),
        (340, f"pull until cosine {UNTIL}", UNTIL, BLUE),
    ):
        ways = _run(until)
        disk = Disk(canvas, x, 92, 288, caption=caption)
        disk.queries(_tokens(), radius=2.2)
        for key, shade in enumerate((ORANGE, SKY, PURPLE)):
            way = [keys_ED[key] for keys_ED in ways]
            disk.trail(way, shade, every=2)
            disk.key(way[0], shade, hollow=True)
        for key, (shade, radius) in enumerate(
            ((ORANGE, 10.0), (SKY, 7.0), (PURPLE, 4.0))
            if until is None
            else ((ORANGE, 7.0), (SKY, 7.0), (PURPLE, 7.0))
        ):
            disk.key(ways[-1][key], shade, radius=radius)
        cosines = [_mean_cosine(keys_ED) for keys_ED in ways]
        chart.line(range(len(cosines)), cosines, colour)
        chart.note((STEPS, cosines[-1]), f"{cosines[-1]:.2f}", dx=8, dy=4)
    legend(canvas, 744, 250, [(VERMILION, "without end"), (BLUE, f"until cosine {UNTIL}")])
    return canvas


def _tokens() -> Tensor:
    return arc(40, 70, 12, seed=3)


def _run(until: float | None) -> list[Tensor]:
    settings = GravityConfig(beta=0.005, pull_until_cosine=until, attraction=False, decay=False)
    world = World(ring([*START, 270, 250, 290]), settings, [usage, peer_pull, norm], top_k=3)
    return [world.state.keys_ED[:3], *(world.read(_tokens()).state.keys_ED[:3] for _ in range(STEPS))]


def _mean_cosine(keys_ED: Tensor) -> float:
    unit_ED = torch.nn.functional.normalize(keys_ED, dim=1)
    first, second = torch.triu_indices(3, 3, offset=1)
    return float((unit_ED[first] * unit_ED[second]).sum(dim=1).mean())
