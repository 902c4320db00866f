"""Credit: two keys change places, because each expert serves the other one's queries better. Attraction
leaves them."""

from __future__ import annotations

import torch
from torch import Tensor

from drawing.canvas import Canvas
from drawing.chart import Chart, legend
from drawing.disk import Disk
from drawing.palette import BLUE, ORANGE, SKY, VERMILION
from simulation import World, arc, on_rim, ring
from somelab.config import GravityConfig, RouterConfig
from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.credit import credit
from somelab.core.gravity.norm import norm
from somelab.core.gravity.usage import usage

STEPS, NUM = 250, 20
TOKENS_TD = torch.cat([arc(NUM, 62, 13, seed=1), arc(NUM, 238, 12, seed=2)])
# The first expert does better on the queries above, the second on those below.
WORTH_TE = torch.tensor([[1.0, -1.0]] * NUM + [[-1.0, 1.0]] * NUM)


def draw() -> Canvas:
    canvas = Canvas(
        960,
        432,
        "Credit: a key moves towards queries for which its expert reduces the loss",
        "Both experts get all queries; each key starts where its expert does worse. Ring: start; "
        "a small dot every 5 steps.",
    )
    by_credit = _run(GravityConfig(attraction=False, peer_pull=False, decay=False, credit=0.02))
    disk = Disk(canvas, 32, 92, 308)
    disk.queries(TOKENS_TD, radius=2.6)
    for key, colour in ((0, ORANGE), (1, SKY)):
        way = [keys_ED[key] for keys_ED, _ in by_credit]
        disk.trail(way, colour, every=5)
        disk.key(way[0], colour, radius=4, hollow=True)
        disk.key(way[-1], colour)
    disk.text(on_rim(60, 0.5), "first expert better")
    disk.text(on_rim(225, 0.45), "second expert better")
    _draw_gates(canvas, by_credit)
    return canvas


def _draw_gates(canvas: Canvas, by_credit: list[tuple[Tensor, float]]) -> None:
    chart = Chart(
        canvas,
        430,
        128,
        490,
        228,
        across=(0, STEPS),
        up=(0, 1),
        ticks_across=[0, 50, 100, 150, 200, 250],
        ticks_up=[0, 0.25, 0.5, 0.75, 1],
        name_across="step",
        name_up="gate of the expert that serves better, mean over queries",
    )
    by_attraction = _run(GravityConfig(peer_pull=False, decay=False, attraction_by="winner"))
    for colour, found in ((VERMILION, by_attraction), (BLUE, by_credit)):
        chart.line(range(STEPS + 1), [gate for _, gate in found], colour)
    legend(canvas, 730, 200, [(BLUE, "credit, step 0.02"), (VERMILION, "attraction by the winner")])


def _run(settings: GravityConfig) -> list[tuple[Tensor, float]]:
    """The keys, and the mean gate of the better expert, before each step and after the last."""
    rules = [usage, attraction, credit, norm]
    world = World(
        ring([252, 48]), settings, rules, top_k=2, router=RouterConfig(kind="none", temperature=0.25)
    )
    found = [(world.state.keys_ED, _better(world))]
    for _ in range(STEPS):
        world.read(TOKENS_TD, WORTH_TE if settings.credit else None)
        found.append((world.state.keys_ED, _better(world)))
    return found


def _better(world: World) -> float:
    routing = world.route(TOKENS_TD)
    return float((routing.gates_TK * (WORTH_TE.gather(1, routing.indices_TK) > 0)).sum(dim=1).mean())
