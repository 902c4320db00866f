"""Series B of report 000: more experts on the backbone of a4. Series C, which starts from b1 again: fewer or
more experts per token."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, vary
from somelab.config.presets.series_a import a4

SERIES = "B, C: number of experts"
SOURCE = "report 000"
SERIES_C = "results of series C"


def b1() -> Preset:
    return _with_experts("b1", 128)


def b2() -> Preset:
    return _with_experts("b2", 256)


def b3() -> Preset:
    return _with_experts("b3", 512)


def c_base() -> Preset:
    return vary(b1(), "c-base", "the base of series C: b1 again", {}, stated=True, source="report 003")


def c1() -> Preset:
    changes = {"experts.top_k": 1}
    return vary(
        a4(), "c1", "a4 with one expert a token", changes, stated=True, series=SERIES, source=SERIES_C
    )


def c2() -> Preset:
    changes = {"experts.top_k": 8}
    return vary(b2(), "c2", "b2 with eight experts a token", changes, stated=True, source=SERIES_C)


def c3() -> Preset:
    changes = {"experts.top_k": 8}
    return vary(b3(), "c3", "b3 with eight experts a token", changes, stated=True, source=SERIES_C)


def _with_experts(name: str, num_experts: int) -> Preset:
    changes = {"experts.num_experts": num_experts}
    return vary(
        a4(), name, f"a4 with {num_experts} experts", changes, stated=True, series=SERIES, source=SOURCE
    )
