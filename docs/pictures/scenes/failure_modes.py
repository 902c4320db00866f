"""Three pools after the same tokens: organised, fused and collapsed. Gini sees one of the two failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from drawing.canvas import Canvas
from drawing.disk import Disk
from drawing.palette import INK, MUTED, VERMILION, ramp
from simulation import World
from somelab.config import GravityConfig, RouterConfig
from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.centring import centring
from somelab.core.gravity.load_bias import load_bias
from somelab.core.gravity.norm import norm
from somelab.core.gravity.peer_pull import peer_pull
from somelab.core.gravity.usage import usage
from somelab.core.measures import combination_entropy_bits, combinations, coverage, crowding, gini

NUM_EXPERTS, TOP_K, STEPS = 16, 4, 500
POOLS = (
    (
        "organised",
        "centred, winner only, load bias",
        True,
        {"attraction_by": "winner", "peer_pull": False, "load_bias": 0.001},
    ),
    ("fused", "centred, peer-pull without a limit", True, {"beta": 0.005}),
    ("collapsed", "not centred, no peer-pull", False, {"peer_pull": False}),
)
NAMES = ("experts in use", "Gini of use", "distinct sets of 4 in use", "combination entropy", "crowding")


def draw() -> Canvas:
    canvas = Canvas(
        960,
        560,
        "Two ways to fail, and what can see them",
        f"{NUM_EXPERTS} keys, K = {TOP_K}, after {STEPS} steps on tokens of one distribution; settings "
        "differ. Bright: much used.",
    )
    for index, (name, settings, centre, gravity) in enumerate(POOLS):
        world, rng = _run(centre, gravity)
        routing = world.route(_tokens(4096, rng))
        use_E = torch.bincount(routing.indices_TK.reshape(-1), minlength=NUM_EXPERTS).float()
        x = 32 + index * 306
        disk = Disk(canvas, x, 92, 284, caption=name)
        for key in use_E.argsort().tolist():
            share = float(use_E[key] / use_E.max())
            disk.key(world.state.keys_ED[key], ramp(share), radius=5 + 4 * share)
        for place_D, members in _guilds(world.state.keys_ED):
            disk.text(place_D * 0.72, f"{members} keys")
        canvas.text(x + 4, 400, settings, size=12.5, fill=MUTED)
        _draw_measures(canvas, x + 4, _measures(world, routing.indices_TK, use_E), alarming=_ALARMING[name])
    return canvas


# Which of the measures give a failure away; the fused pool looks perfect to the first two.
_ALARMING = {"organised": (), "fused": (3, 4), "collapsed": (0, 1, 2, 3)}


def _draw_measures(canvas: Canvas, x: float, values: Sequence[str], *, alarming: Sequence[int]) -> None:
    for row, (name, value) in enumerate(zip(NAMES, values, strict=True)):
        y = 430 + row * 23
        alarm = row in alarming
        canvas.text(x, y, name, size=13)
        canvas.text(
            x + 268,
            y,
            value,
            size=13,
            weight=700 if alarm else 400,
            fill=VERMILION if alarm else INK,
            anchor="end",
        )


def _measures(world: World, indices_TK: Tensor, use_E: Tensor) -> list[str]:
    codes, counts = combinations(indices_TK, NUM_EXPERTS)
    return [
        f"{coverage(use_E)} of {NUM_EXPERTS}",
        f"{gini(use_E):.2f}",
        f"{codes.numel()}",
        f"{combination_entropy_bits(counts.float()):.1f} bits",
        f"{crowding(world.state.keys_ED, TOP_K):.2f}",
    ]


def _guilds(keys_ED: Tensor) -> list[tuple[Tensor, int]]:
    """Places where at least K keys lie within two degrees, and how many."""
    near_EE = keys_ED @ keys_ED.T > 0.9994
    groups = {tuple(row.nonzero()[:, 0].tolist()) for row in near_EE}
    return [(keys_ED[list(group)].mean(dim=0), len(group)) for group in sorted(groups) if len(group) >= TOP_K]


def _tokens(num: int, rng: torch.Generator) -> Tensor:
    """Token states with a large common direction, as real ones have."""
    return torch.randn(num, 2, generator=rng) + torch.tensor([4.0, 0.0])


def _run(centre: bool, gravity: dict[str, Any]) -> tuple[World, torch.Generator]:
    rng = torch.Generator().manual_seed(7)
    keys_ED = F.normalize(torch.randn(NUM_EXPERTS, 2, generator=rng), dim=1)
    rules = [usage, centring, load_bias, attraction, peer_pull, norm]
    router = RouterConfig(kind="none", centre_queries=centre)
    world = World(keys_ED, GravityConfig(decay=False, **gravity), rules, top_k=TOP_K, router=router)
    for _ in range(STEPS):
        world.read(_tokens(512, rng))
    return world, rng
