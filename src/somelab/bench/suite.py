"""The benchmarks by name, in the order in which `all` runs them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence

from somelab.bench.results import Result
from somelab.bench.settings import Settings
from somelab.bench.suites import generation, gravity, layer, memory, scaling, step
from somelab.native import load as load_native

BENCHES: dict[str, Callable[[Settings], Result]] = {
    "layer": layer.run,
    "gravity": gravity.run,
    "step": step.run,
    "generate": generation.run,
    "memory": memory.run,
    "scaling": scaling.run,
}


def run(names: Sequence[str], settings: Settings) -> list[Result]:
    """One after another; memory is freed before the next begins."""
    load_native()
    results = list[Result]()
    for name in names:
        results.append(BENCHES[name](settings))
        gc.collect()
    return results
