"""The machine's GEMM peak: large square products into a preallocated buffer. Shares of the peak refer to it.
The best product of a run counts."""

from __future__ import annotations

import torch

from somelab.bench.measuring import Contender, Timing
from somelab.bench.results import Row
from somelab.bench.settings import Settings
from somelab.core.dispatch.int8 import multiplies_int8
from somelab.core.dispatch.int8_rows import Int8Kernels
from somelab.core.dispatch.kernels import registered

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
INT8 = "int8"
SIZES = (1024, 2048)
QUICK_SIZES = (128,)


def gemm_contenders(settings: Settings) -> list[Contender]:
    """A contender for each type and size, to be timed among all others. Products of bf16 only where they are
    used; of int8 by torch only where the processor has them: elsewhere one would take minutes, and the
    compiled kernel stands for them."""
    sizes = QUICK_SIZES if settings.quick else SIZES
    types = dict.fromkeys(("fp32", settings.compute_name))
    products = [_product(name, size) for name in types for size in sizes]
    if multiplies_int8():
        return [*products, *(_integer_product(size) for size in sizes)]
    kernels = registered()
    if kernels is None or not kernels.int8.is_fast:
        return products
    return [*products, *(_own_integer_product(size, kernels.int8) for size in sizes)]


def _product(name: str, size: int) -> Contender:
    rng = torch.Generator().manual_seed(size)
    left, right = (torch.randn(size, size, generator=rng).to(DTYPES[name]) for _ in range(2))
    out = torch.empty(size, size, dtype=DTYPES[name])
    return Contender(f"product {name} {size}", lambda: torch.mm(left, right, out=out))


def _integer_product(size: int) -> Contender:
    rng = torch.Generator().manual_seed(size)
    left, right = (torch.randint(-127, 128, (size, size), generator=rng).to(torch.int8) for _ in range(2))
    out = torch.empty(size, size, dtype=torch.int32)
    multiply = torch.ops.aten._int_mm.out
    return Contender(f"product {INT8} {size}", lambda: multiply(left, right.T, out=out))


def _own_integer_product(size: int, kernels: Int8Kernels) -> Contender:
    rng = torch.Generator().manual_seed(size)
    rows = kernels.quantise(torch.randn(size, size, generator=rng))
    matrix = torch.randint(-127, 128, (size, size), generator=rng).to(torch.int8)
    out = torch.empty(size, size)
    return Contender(
        f"product {INT8} {size}", lambda: kernels.product(rows, None, matrix, 1.0, out, transposed=False)
    )


def int8_peak(peak: dict[str, float]) -> float:
    """GOP/s of products of integers: of int8, by torch or by the compiled kernel, or of fp32 where those are
    faster."""
    return max(peak.get(INT8, 0.0), peak["fp32"])


def peaks(timings: list[dict[str, Timing]]) -> dict[str, float]:
    """GFLOP/s of the best product of each type over several measurements."""
    best = dict[str, float]()
    for measured in timings:
        for contender, timing in measured.items():
            if contender.startswith("product "):
                _, name, size = contender.split()
                best[name] = max(best.get(name, 0.0), 2 * int(size) ** 3 / timing.best / 1e9)
    return best


def peak_rows(peak: dict[str, float]) -> list[Row]:
    return [
        Row(
            "square products",
            f"GEMM peak {name}",
            "machine",
            speed,
            unit="GFLOP/s",
            note="the best of all in this run",
        )
        for name, speed in peak.items()
    ]
