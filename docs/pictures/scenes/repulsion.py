"""Repulsion: five keys in a crowd push each other apart until they are as far from each other as the rule
reaches."""

from __future__ import annotations

from torch import Tensor, pdist

from drawing.canvas import Canvas
from drawing.chart import Chart, legend
from drawing.disk import Disk
from drawing.palette import BLUE, ORANGE, PURPLE, SKY, VERMILION, YELLOW
from simulation import World, arc, ring
from somelab.config import GravityConfig
from somelab.core.gravity.norm import norm
from somelab.core.gravity.repulsion import repulsion

STEPS, START = 200, [70.0, 76.0, 80.0, 88.0, 97.0]


def draw() -> Canvas:
    canvas = Canvas(
        960,
        420,
        "Repulsion: keys that have come too close push each other apart",
        "Five keys in a crowd, 200 steps with the norm; nothing else acts. Ring: start; a small dot every "
        "10 steps.",
    )
    settings = {"rate": 0.01, "reach": 0.5}
    ways = _run(**settings)
    disk = Disk(canvas, 32, 92, 288, caption="rate 0.01, distance 0.5")
    for key, colour in enumerate((ORANGE, SKY, PURPLE, YELLOW, VERMILION)):
        way = [keys_ED[key] for keys_ED in ways]
        disk.trail(way, colour, every=10)
        disk.key(way[0], colour, radius=4, hollow=True)
        disk.key(way[-1], colour)
    chart = Chart(
        canvas,
        400,
        128,
        336,
        216,
        across=(0, STEPS),
        up=(0, 0.55),
        ticks_across=[0, 50, 100, 150, 200],
        ticks_up=[0, 0.1, 0.2, 0.3, 0.4, 0.5],
        name_across="step",
        name_up="smallest distance between two keys",
    )
    lines = (
        (VERMILION, "rate 0.05, distance 0.5", {"rate": 0.05, "reach": 0.5}),
        (ORANGE, "rate 0.01, distance 0.5", settings),
        (BLUE, "rate 0.01, distance 0.25", {"rate": 0.01, "reach": 0.25}),
        (PURPLE, "rate 0.001, distance 0.5", {"rate": 0.001, "reach": 0.5}),
    )
    for colour, _, variant in lines:
        chart.line(range(STEPS + 1), [float(pdist(keys_ED).min()) for keys_ED in _run(**variant)], colour)
    legend(canvas, 762, 150, [(colour, words) for colour, words, _ in lines])
    return canvas


def _run(rate: float, reach: float) -> list[Tensor]:
    settings = GravityConfig(
        repulsion=rate, repulsion_distance=reach, attraction=False, peer_pull=False, decay=False
    )
    world = World(ring(START), settings, [repulsion, norm])
    tokens_TD = arc(8, 80, 10, seed=1)
    return [world.state.keys_ED, *(world.read(tokens_TD).state.keys_ED for _ in range(STEPS))]
