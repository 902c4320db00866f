"""Norm: the length of three keys under each of the four policies, while attraction and decay act on them."""

from __future__ import annotations

import torch
from torch import Tensor

from drawing.canvas import Canvas
from drawing.chart import Chart, legend
from drawing.palette import BLUE, ORANGE, VERMILION
from simulation import World, arc, ring
from somelab.config import GravityConfig
from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.decay import decay
from somelab.core.gravity.norm import norm
from somelab.core.gravity.usage import usage

STEPS = 600
POLICIES = (
    ("unit", "v1 to v5", "all three at 1"),
    ("unit_used", "v6", "both used keys at 1"),
    ("clamp", "v7", ""),
    ("none", "v3.5", ""),
)
KEYS = (
    (BLUE, "chosen by similar queries"),
    (ORANGE, "chosen by scattered queries"),
    (VERMILION, "chosen by none: decays"),
)


def draw() -> Canvas:
    canvas = Canvas(
        960,
        392,
        "Norm: what becomes of the length of keys",
        "Three keys over 600 steps of usage, attraction, norm and decay (delta 0.005, no warm-up), under "
        "each policy.",
    )
    for index, (policy, versions, note) in enumerate(POLICIES):
        chart = Chart(
            canvas,
            72 + index * 222,
            132,
            182,
            176,
            across=(0, STEPS),
            up=(0, 1.05),
            ticks_across=[0, 300, 600],
            ticks_up=[0, 0.5, 1],
            name_across="step",
            name_up=f"{policy} ({versions})",
        )
        lengths = torch.stack([keys_ED.norm(dim=1) for keys_ED in _run(policy)])
        for key, (colour, _) in enumerate(KEYS):
            chart.line(range(STEPS + 1), lengths[:, key].tolist(), colour)
        if note:
            chart.note((STEPS, 1), note, dy=18, anchor="end")
    for index, (colour, words) in enumerate(KEYS):
        legend(canvas, 72 + index * 250, 372, [(colour, words)])
    return canvas


def _run(policy: str) -> list[Tensor]:
    """The keys after each step; the third points away from all queries, so that nobody chooses it."""
    settings = GravityConfig(
        norm=policy, delta=0.005, theta=1.0, theta_percentile=None, warmup_steps=0, peer_pull=False
    )  # pyright: ignore[reportArgumentType]
    world = World(ring([40, 150, 300]), settings, [usage, attraction, norm, decay])
    tokens_TD = torch.cat([arc(60, 20, 8, seed=1), ring(range(100, 190, 3))])
    return [world.state.keys_ED, *(world.read(tokens_TD).state.keys_ED for _ in range(STEPS))]
