"""Where a contender's time goes, by kind of operator: one more run of it, profiled and not timed, to explain
a ratio."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

KINDS = {
    "matrix products": (
        "aten::mm",
        "aten::addmm",
        "aten::bmm",
        "aten::baddbmm",
        "aten::_grouped_mm",
        "aten::_int_mm",
        "mkldnn",
    ),
    "attention": ("aten::_scaled_dot_product", "aten::_flash_attention", "aten::_efficient_attention"),
    "gelu": ("aten::gelu",),
    "softmax over the vocabulary": ("aten::_log_softmax", "aten::logsumexp", "aten::_softmax"),
    "optimizer": ("aten::_fused_adam", "aten::_foreach"),
    "gather, scatter, sort": (
        "aten::index",
        "aten::gather",
        "aten::scatter",
        "aten::sort",
        "aten::topk",
        "aten::bincount",
    ),
    "transforms": ("_Fused",),
    "compiled kernels and the loop around them": ("_FrozenExperts", "_Int8Experts", "Int8Rows"),
}
NEEDED = ("matrix products", "attention", "transforms", "compiled kernels and the loop around them")
"""Kinds that a step cannot do without."""
OTHER = "other passes over memory"
LEAST_SHARE = 0.01


def shares(work: Callable[[], Any]) -> dict[str, float]:
    """Shares of the profiled time by kind, the largest first. Kinds below a hundredth are part of the
    rest."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as taken:
        work()
    return shares_of((event.key, event.self_cpu_time_total) for event in taken.key_averages())


def shares_of(events: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The same from names of operators and their self time."""
    times: dict[str, float] = defaultdict(float)
    for name, own in events:
        times[kind_of(name)] += own
    total = sum(times.values())
    if not total:
        return {}
    small = [kind for kind, spent in times.items() if kind != OTHER and spent < LEAST_SHARE * total]
    for kind in small:
        times[OTHER] += times.pop(kind)
    return {kind: times[kind] / total for kind in sorted(times, key=times.__getitem__, reverse=True)}


def rest(found: dict[str, float]) -> float:
    """The share of everything that is not needed."""
    return 1 - sum(found.get(kind, 0.0) for kind in NEEDED)


def kind_of(name: str) -> str:
    return next((kind for kind, starts in KINDS.items() if name.startswith(starts)), OTHER)


def sentence(contender: str, found: dict[str, float]) -> str:
    """One line for the page."""
    parts = ", ".join(f"{kind} {share:.0%}" for kind, share in found.items())
    return f"Profile of {contender}: {parts}."
