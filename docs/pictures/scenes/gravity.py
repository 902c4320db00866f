"""The turn of one optimizer step: forward collects, then the rules act in the order that
somelab.core.gravity.ORDER has."""

from __future__ import annotations

from drawing.canvas import Canvas
from drawing.palette import BLUE, EDGE, INK, MUTED, ORANGE
from somelab.config import GravityConfig, RouterConfig
from somelab.core.gravity import ORDER

STAGES = (
    ("forward", ("route and compute;", "add to n, m, S, C")),
    ("backward", ("gradients of the query", "network and the shell")),
    ("optimizer", ("trained weights move", "")),
    ("gravity", ("keys move, once;", "n, m, S, C are forgotten")),
)
WHAT = {
    "usage": "counts the selections",
    "centring": "running mean of queries",
    "load_bias": "offset on the selection",
    "attraction": "to the queries (alpha)",
    "credit": "to those it serves well",
    "peer_pull": "to each other (beta)",
    "repulsion": "away from neighbours",
    "step_cap": "limit on a step",
    "norm": "length after moving",
    "decay": "unused keys shrink (delta)",
    "respawn": "vanished keys begin again",
    "smoothing": "average to route by",
}


def draw() -> Canvas:
    canvas = Canvas(
        960,
        462,
        "One optimizer step: forward collects, one place moves",
        "Below: the rules in the order in which they act. Pale: off by default.",
    )
    for index, (name, words) in enumerate(STAGES):
        x = 32 + index * 233.3
        last = name == "gravity"
        canvas.rect(x, 92, 196, 96, radius=10, fill=INK if last else "#FFFFFF", stroke=None if last else EDGE)
        canvas.text(x + 18, 122, name, size=15, weight=700, fill="#FFFFFF" if last else INK)
        canvas.lines(x + 18, 146, words, size=12, fill="#DCE4F2" if last else MUTED)
        if not last:
            canvas.arrow([(x + 202, 140), (x + 227, 140)], stroke=MUTED)
    canvas.line([(830, 188), (830, 206)], stroke=MUTED, width=1.4)
    canvas.line([(40, 206), (920, 206)], stroke=MUTED, width=1.4)
    for place, rule in enumerate(ORDER):
        _draw_rule(canvas, place, rule.act.__name__, rule.moves_keys)
    for x, colour, words in ((32, ORANGE, "moves keys"), (168, BLUE, "keeps account: no key moves")):
        canvas.circle((x + 6, 432), 6, fill=colour)
        canvas.text(x + 20, 436, words, size=12.5)
    return canvas


def _draw_rule(canvas: Canvas, place: int, name: str, moves_keys: bool) -> None:
    row, column = divmod(place, 4)
    x, y = 32 + column * 228, 226 + row * 62
    colour, on = ORANGE if moves_keys else BLUE, _on_by_default(name)
    canvas.rect(x, y, 212, 50, radius=8, fill="#FFFFFF", stroke=EDGE)
    canvas.circle((x + 24, y + 25), 12, fill=colour, opacity=1 if on else 0.35)
    canvas.text(
        x + 24,
        y + 29.5,
        str(place + 1),
        size=12,
        weight=700,
        fill="#FFFFFF" if colour == BLUE else INK,
        anchor="middle",
    )
    canvas.text(x + 46, y + 22, name.replace("_", " "), size=13.5, weight=700, fill=INK if on else "#7B8292")
    canvas.text(x + 46, y + 39, WHAT[name], size=11.5, fill=MUTED if on else "#7B8292")


def _on_by_default(name: str) -> bool:
    """Whether the default settings let a rule act."""
    gravity = GravityConfig()
    acts = {
        "centring": RouterConfig().centre_queries,
        "load_bias": gravity.load_bias > 0,
        "attraction": gravity.attraction,
        "credit": gravity.credit > 0,
        "peer_pull": gravity.peer_pull,
        "repulsion": gravity.repulsion > 0,
        "step_cap": gravity.max_step is not None,
        "decay": gravity.decay,
        "respawn": gravity.respawn,
        "smoothing": gravity.key_ema > 0,
    }
    return acts.get(name, True)
