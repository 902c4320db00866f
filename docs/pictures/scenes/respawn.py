"""Respawn: a key on the empty side of the disk shrinks, begins again at a query, and is found at once."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from drawing.canvas import Canvas
from drawing.chart import Chart
from drawing.disk import Disk
from drawing.palette import BLUE, NIGHT_TEXT, ORANGE, SKY
from simulation import World, arc, on_rim, ring
from somelab.config import GravityConfig
from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.decay import decay
from somelab.core.gravity.norm import norm
from somelab.core.gravity.respawn import respawn
from somelab.core.gravity.usage import usage

STEPS = 800


def draw() -> Canvas:
    canvas = Canvas(
        960,
        420,
        "Respawn: a key that has all but vanished begins again where tokens are",
        "Two keys and one group of queries, 800 steps with norm clamp, delta 0.005 and respawn below a "
        "length of 0.1.",
    )
    keys, used, reborn = _run()
    disk = Disk(canvas, 32, 92, 288)
    disk.queries(_tokens(), radius=2.2)
    busy, lonely = [step[0] for step in keys], [step[1] for step in keys]
    disk.trail(busy, SKY)
    disk.key(busy[0], SKY, hollow=True)
    disk.trail(lonely[: reborn + 1], ORANGE, every=50)
    disk.key(lonely[0], ORANGE, hollow=True)
    canvas.line([disk.at(lonely[reborn]), disk.at(lonely[reborn + 1])], stroke=ORANGE, width=1.4, dash="3 5")
    disk.trail(lonely[reborn + 1 :], ORANGE)
    disk.key(busy[-1], SKY)
    disk.key(lonely[-1], ORANGE)
    disk.text(on_rim(228, 0.62), "shrinks", fill=NIGHT_TEXT)
    disk.text(on_rim(35, 0.42), "respawned", fill=NIGHT_TEXT)
    axes: dict[str, Any] = {
        "across": (0, STEPS),
        "ticks_across": [0, 200, 400, 600, 800],
        "name_across": "step",
    }
    length = Chart(
        canvas, 392, 128, 236, 216, up=(0, 1.05), ticks_up=[0, 0.5, 1], name_up="length of the key", **axes
    )
    length.line(range(STEPS + 1), [float(key.norm()) for key in busy], BLUE)
    length.line(range(STEPS + 1), [float(key.norm()) for key in lonely], ORANGE)
    length.note((reborn, 0.1), f"step {reborn}", dx=8, dy=4)
    use = Chart(canvas, 690, 128, 236, 216, up=(0, 65), ticks_up=[0, 20, 40, 60], name_up="usage u", **axes)
    use.line(range(STEPS), [step[0] for step in used], BLUE)
    use.line(range(STEPS), [step[1] for step in used], ORANGE)
    return canvas


def _tokens() -> Tensor:
    return arc(60, 80, 24, seed=4)


def _run() -> tuple[list[Tensor], list[list[float]], int]:
    """Keys at each step, usages after it, and the step of the rebirth."""
    settings = GravityConfig(
        norm="clamp",
        delta=0.005,
        theta=1.0,
        theta_percentile=None,
        warmup_steps=0,
        respawn=True,
        peer_pull=False,
    )
    world = World(ring([120, 262]), settings, [usage, attraction, norm, decay, respawn])
    keys, used = [world.state.keys_ED], []
    for _ in range(STEPS):
        state = world.read(_tokens()).state
        keys.append(state.keys_ED)
        used.append(state.usage_E.tolist())
    return keys, used, int(world.state.born_E[1])
