"""A Hadamard expert step by step, with the numbers of a real one: signs, the Walsh-Hadamard matrix, GELU,
signs."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from drawing.canvas import Canvas
from drawing.palette import BLUE, EDGE, INK, MUTED, ORANGE
from somelab.core.dispatch.hadamard import HadamardPool, outputs_of, walsh_hadamard

WIDTH = 16
CELL = 18
TOP = 118
POOL = HadamardPool(key=5, num_experts=1, d_model=WIDTH, d_ffn=WIDTH)


def draw() -> Canvas:
    canvas = Canvas(
        960,
        490,
        "An expert without matrices",
        f"The steps of one real expert of width {WIDTH}. Orange: positive, blue: negative, pale: near 0.",
    )
    x = torch.randn(WIDTH, generator=torch.Generator().manual_seed(3))
    b = POOL.signs(torch.tensor([0]))[0][0]
    hidden = walsh_hadamard(b * x) / WIDTH**0.5
    output = outputs_of(x[None], torch.tensor([[0]]), POOL)[0, 0]
    columns = (
        (52, x, "q", ("input", "rms 1")),
        (142, b, "b", ("random", "signs")),
        (232, b * x, "b * q", ("signs", "flipped")),
        (672, hidden, "z", ("n log n", "additions")),
        (762, F.gelu(hidden), "gelu(z)", ("hidden", "units")),
        (872, output, "output", ("times c", "and gamma")),
    )
    for left, values, name, words in columns:
        _cells(canvas, left, values[:, None])
        canvas.text(left + CELL / 2, TOP - 14, name, size=13.5, weight=700, anchor="middle")
        canvas.lines(left + CELL / 2, TOP + WIDTH * CELL + 20, words, size=12, fill=MUTED, anchor="middle")
    _cells(canvas, 336, walsh_hadamard(torch.eye(WIDTH)))
    middle = 336 + WIDTH * CELL / 2
    canvas.text(middle, TOP - 14, "H", size=13.5, weight=700, anchor="middle")
    words = ("the same for all experts, never stored:", "sums and differences in 4 passes")
    canvas.lines(middle, TOP + WIDTH * CELL + 20, words, size=12, fill=MUTED, anchor="middle")
    canvas.text(32, 472, "Of an expert's own: b and c, 32 bits of a hash.", size=12.5, fill=INK)
    return canvas


def _cells(canvas: Canvas, left: float, values: Tensor) -> None:
    for row, numbers in enumerate(values.tolist()):
        for column, value in enumerate(numbers):
            place = (left + column * CELL, TOP + row * CELL, CELL - 2, CELL - 2)
            canvas.rect(*place, radius=2, fill=EDGE, opacity=0.4)
            colour = ORANGE if value >= 0 else BLUE
            canvas.rect(
                *place, radius=2, fill=colour, opacity=round(min(1.0, abs(value) / 1.5) * 0.9 + 0.02, 2)
            )
