"""Series B of report 000: more experts on the backbone of a4, and the base of series C, which is b1 again."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, vary
from somelab.config.presets.series_a import a4

SERIES = "B, C: number of experts"
SOURCE = "report 000"


def b1() -> Preset:
    return _with_experts("b1", 128)


def b2() -> Preset:
    return _with_experts("b2", 256)


def b3() -> Preset:
    return _with_experts("b3", 512)


def c_base() -> Preset:
    return vary(b1(), "c-base", "the base of series C: b1 again", {}, stated=True, source="report 003")


def _with_experts(name: str, num_experts: int) -> Preset:
    changes = {"experts.num_experts": num_experts}
    return vary(
        a4(), name, f"a4 with {num_experts} experts", changes, stated=True, series=SERIES, source=SOURCE
    )
