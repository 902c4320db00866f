"""Centring: token states share a direction, so their queries crowd on one side; less their mean, they reach
all keys."""

from __future__ import annotations

import torch
from torch import Tensor

from drawing.canvas import Canvas
from drawing.disk import Disk
from drawing.palette import INK, MUTED, NIGHT_LINE, ORANGE, STAR
from simulation import World, ring
from somelab.config import GravityConfig, RouterConfig
from somelab.core.gravity.centring import centring
from somelab.core.measures import coverage, gini

NUM_EXPERTS, TOP_K = 16, 2


def draw() -> Canvas:
    canvas = Canvas(
        960,
        420,
        "Centring: take away what all queries have in common",
        "300 token states with a common direction, as queries of length 1, before and after their running "
        "mean is subtracted.",
    )
    for x, caption, centre in ((32, "not centred", False), (340, "centred", True)):
        world = World(
            ring([360 / NUM_EXPERTS * key for key in range(NUM_EXPERTS)]),
            GravityConfig(keys="moved"),
            [centring],
            top_k=TOP_K,
            router=RouterConfig(kind="none", centre_queries=centre),
        )
        world.read(_tokens(2048, seed=1))
        tokens_TD = _tokens(300, seed=2)
        routing = world.route(tokens_TD)
        use_E = torch.bincount(routing.indices_TK.reshape(-1), minlength=NUM_EXPERTS).float()
        disk = Disk(canvas, x, 92, 288, caption=caption)
        disk.queries(routing.queries_TD, radius=2)
        for key in range(NUM_EXPERTS):
            disk.key(world.state.keys_ED[key] * 0.88, ORANGE if use_E[key] else NIGHT_LINE, radius=5.5)
        y = 132 if not centre else 232
        canvas.text(664, y, caption, size=14, weight=700)
        canvas.text(664, y + 24, f"{coverage(use_E)} of {NUM_EXPERTS} keys are chosen by any token", size=13)
        canvas.text(664, y + 45, f"Gini of use {gini(use_E):.2f}", size=13)
    _draw_legend(canvas)
    return canvas


def _draw_legend(canvas: Canvas) -> None:
    for y, colour, words in (
        (336, STAR, "query"),
        (356, ORANGE, "key that is chosen"),
        (376, NIGHT_LINE, "key that is never chosen"),
    ):
        canvas.circle((670, y - 4), 5, fill=colour)
        canvas.text(684, y, words, size=12.5, fill=MUTED if colour == STAR else INK)


def _tokens(num: int, seed: int) -> Tensor:
    return torch.randn(num, 2, generator=torch.Generator().manual_seed(seed)) + torch.tensor([2.2, 2.2])
