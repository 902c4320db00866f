"""Targets for the engine: for each measure a bar and a stretch goal, as ratios within one run, so that they
hold on other machines. Stated for bf16 on hardware that multiplies it, D=512, F=1024, E=64, K=4, 8,192
tokens, and for preset a1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from somelab.bench.results import Result


@dataclass(frozen=True)
class Bar:
    """A measure, by its benchmark and its key there."""

    bench: str
    key: str
    measure: str
    bar: float
    stretch: float
    unit: str = "x"
    """x (times) | % (share) | GB"""
    at_most: bool = False
    """Smaller is better."""

    def verdict(self, value: float | None) -> str:
        if value is None:
            return "not measured"
        if _passes(value, self.stretch, self.at_most):
            return "stretch reached"
        return "reached" if _passes(value, self.bar, self.at_most) else "not reached"

    def shown(self, value: float | None) -> str:
        """A formatted value: 4.21x, 35.0 %, 5.92 GB."""
        if value is None:
            return "-"
        if self.unit == "%":
            return f"{value:.2%}" if value < 0.1 else f"{value:.1%}"
        return f"{value / 1e9:.2f} GB" if self.unit == "GB" else f"{value:.2f}x"


BARS = (
    Bar(
        "layer",
        "notebook_uniform",
        "expert pass, forward + backward, against the published notebooks, uniform routing",
        4,
        7,
    ),
    Bar("layer", "notebook_skewed", "the same, skewed (Zipf 1.5) routing", 8, 12),
    Bar("layer", "gemm_peak", "expert pass against the machine's GEMM peak in that run", 0.35, 0.60, "%"),
    Bar("layer", "dense_trained", "expert pass against a dense trained FFN of the same active size", 1.2, 2),
    Bar("layer", "best_peer", "expert pass against the best peer from PyPI", 3, 5),
    Bar("layer", "int8_notebook_uniform", "int8 pool against the published notebooks, uniform routing", 3, 4),
    Bar("layer", "int8_notebook_skewed", "the same, skewed (Zipf 1.5) routing", 3, 4.5),
    Bar("layer", "int8_best_peer", "int8 pool against the best peer from PyPI", 3, 4.5),
    Bar("layer", "int8_peak", "int8 pool against the machine's peak for integers", 0.40, 0.60, "%"),
    Bar("layer", "hadamard_frozen", "Hadamard experts against the fp32 frozen engine", 12, 18),
    Bar(
        "layer",
        "hadamard_dense_equal",
        "Hadamard block against a dense trained block of the same trained size",
        1 / 1.2,
        1 / 1.05,
    ),
    Bar("step", "notebook", "training step, tokens/s, against the published notebooks", 4, 7),
    Bar(
        "step",
        "some_dense_equal",
        "step of `some` against a dense block of the same trained size",
        1 / 1.2,
        1 / 1.05,
    ),
    Bar(
        "step", "some_rest", "`some`: neither product, transform nor attention", 0.15, 0.1, "%", at_most=True
    ),
    Bar(
        "step", "demo_rest", "`demo`: neither product, transform nor attention", 0.15, 0.1, "%", at_most=True
    ),
    Bar("step", "packed_over_padded", "tokens/s without padding, packed against padded to 768", 3, 3.5),
    Bar(
        "scaling",
        "largest_over_smallest",
        "E = 64 -> 512 at constant K and tokens, step time",
        1.25,
        1.1,
        at_most=True,
    ),
    Bar("scaling", "int8_largest_over_smallest", "the same, pool in int8", 1.3, 1.15, at_most=True),
    Bar(
        "scaling",
        "hadamard_65536_over_64",
        "Hadamard layer with product keys, E = 64 -> 65,536",
        1.3,
        1.1,
        at_most=True,
    ),
    Bar("scaling", "hadamard_1000000_over_64", "the same, E = 64 -> 1,000,000", 1.6, 1.25, at_most=True),
    Bar("gravity", "share_a1", "gravity's share of a step, a1", 0.02, 0.005, "%", at_most=True),
    Bar("gravity", "share_b3", "gravity's share of a step, b3", 0.02, 0.005, "%", at_most=True),
    Bar(
        "generate",
        "rerun_batch_1",
        "greedy generation of 256 tokens, batch 1, against the full forward for each token",
        20,
        60,
    ),
    Bar("generate", "int8_rerun_batch_1", "the same, pool in int8", 40, 80),
    Bar("memory", "peak_bytes", "peak memory of a step (batch 32 x 768)", 6e9, 4e9, "GB", at_most=True),
    Bar(
        "memory",
        "peak_bytes_b3",
        "peak memory of a step of b3 (batch 4 x 768), int8 (--big)",
        9e9,
        7e9,
        "GB",
        at_most=True,
    ),
)


def judge(results: Sequence[Result], *, applies: bool) -> list[dict[str, Any]]:
    """Every bar of the benchmarks that were run. `applies`: the shapes are those that the bars are stated
    for."""
    by_bench = {result.bench: result for result in results}
    judged = list[dict[str, Any]]()
    for bar in BARS:
        if bar.bench in by_bench:
            value = by_bench[bar.bench].value(bar.key)
            judged.append(
                {
                    "bench": bar.bench,
                    "key": bar.key,
                    "measure": bar.measure,
                    "bar": _wanted(bar, bar.bar),
                    "stretch": _wanted(bar, bar.stretch),
                    "value": value,
                    "shown": bar.shown(value),
                    "verdict": bar.verdict(value) if applies else "other shapes: not compared",
                }
            )
    return judged


def _wanted(bar: Bar, value: float) -> str:
    if bar.unit == "%":
        shown = f"{value * 100:g} %"
    else:
        shown = f"{value / 1e9:g} GB" if bar.unit == "GB" else f"{value:.3g}x"
    return f"<= {shown}" if bar.at_most else shown


def _passes(value: float, wanted: float, at_most: bool) -> bool:
    return value <= wanted if at_most else value >= wanted
