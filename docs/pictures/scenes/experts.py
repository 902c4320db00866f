"""Expert pools: what is drawn once and frozen, and what each kind of trainability adds, with counts from real
pools."""

from __future__ import annotations

import torch

from drawing.canvas import Canvas, outline
from drawing.palette import EDGE, INK, MUTED, ORANGE
from somelab.config import ExpertsConfig
from somelab.core.experts import DenseExperts

D_MODEL, NUM_EXPERTS, D_FFN = 384, 64, 1024
FROZEN = "#B9C3D3"
KINDS = (
    ("frozen", ("the published SoME:", "nothing is trained")),
    ("gains", ("a factor for each", "hidden unit")),
    ("readout", ("one up-projection,", "shared by the layer")),
    ("lora", ("a low-rank update", "of both matrices")),
    ("full", ("everything:", "a classic pool")),
)


def draw() -> Canvas:
    canvas = Canvas(
        960,
        446,
        "Experts: what is frozen and what is trained",
        f"One expert of a layer of {NUM_EXPERTS}, width {D_MODEL}, hidden width {D_FFN} (run A1). Bold: "
        "trained of all.",
    )
    for index, (kind, words) in enumerate(KINDS):
        x = 32 + index * 181
        canvas.rect(x, 92, 172, 308, radius=10, fill="#FFFFFF", stroke=EDGE)
        canvas.text(x + 16, 120, kind, size=14.5, weight=700)
        _draw_expert(canvas, x, kind)
        canvas.lines(x + 16, 338, words, size=12, fill=MUTED)
        canvas.text(x + 16, 384, _trained(kind), size=13, weight=700)
    for x, colour, words in (
        (32, FROZEN, "drawn from a random seed, frozen"),
        (282, ORANGE, "trained by gradient"),
    ):
        canvas.rect(x, 416, 16, 12, radius=2, fill=colour)
        canvas.text(x + 24, 427, words, size=12.5)
    return canvas


def _draw_expert(canvas: Canvas, x: float, kind: str) -> None:
    """An hourglass turned over: D in, F hidden, D out, upwards."""
    middle, full = x + 86, kind == "full"
    for wide_up, y in ((True, 232), (False, 152)):
        trained = full or (kind == "readout" and not wide_up)
        top, bottom = (64, 30) if wide_up else (30, 64)
        corners = [(middle - top, y), (middle + top, y), (middle + bottom, y + 62), (middle - bottom, y + 62)]
        if kind == "lora":  # two thin matrices and the narrow way between them, behind the frozen one
            level = y + (46 if wide_up else 16)
            canvas.line([(middle - 55, level), (middle + 55, level)], stroke=ORANGE, width=3)
            for side in (-62, 48):
                canvas.rect(middle + side, level - 9, 14, 18, radius=3, fill=ORANGE)
        canvas.path(outline(corners, closed=True), fill=ORANGE if trained else FROZEN)
        canvas.text(
            middle, y + 36, "W down" if wide_up else "W up", size=12, weight=600, fill=INK, anchor="middle"
        )
    canvas.rect(middle - 64, 218, 128, 10, radius=3, fill=ORANGE if kind == "gains" else EDGE)
    canvas.text(middle, 311, "token", size=11.5, fill=MUTED, anchor="middle")
    canvas.text(middle, 146, "output", size=11.5, fill=MUTED, anchor="middle")


def _trained(kind: str) -> str:
    with torch.device("meta"):
        pool = DenseExperts(
            D_MODEL, ExpertsConfig(num_experts=NUM_EXPERTS, d_ffn=D_FFN, trainability=kind), seed=0, layer=0
        )  # pyright: ignore[reportArgumentType]
    trained = sum(weight.numel() for weight in pool.parameters() if weight.requires_grad)
    total = sum(weight.numel() for weight in pool.parameters())
    return f"{trained / 1e6:.2f} of {total / 1e6:.1f} M" if trained else f"0 of {total / 1e6:.1f} M"
