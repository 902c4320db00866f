"""Study D of report 001: three ways to keep the sixteen layers of a6 from collapsing. Proposed there, without
results."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, study, vary
from somelab.config.presets.series_a import a6
from somelab.config.versions import Settings

SERIES = "D: taming depth"


def d1() -> Preset:
    return _study("d1", "a6, less pull in later layers", {"gravity.beta_layers": (1.0, 0.5)})


def d2() -> Preset:
    return _study("d2", "a6, frozen keys in later layers", {"gravity.frozen_layers": (False, True)})


def d3() -> Preset:
    return _study("d3", "a6, queries grounded below", {"router.grounding": 0.1})


def _study(name: str, title: str, changes: Settings) -> Preset:
    note = f"proposed, without results: {study(name.upper())}"
    return vary(a6(), name, title, changes, stated=True, series=SERIES, note=note)
