"""Baselines for the SoME layer, all with the settings of a1 otherwise and none in the reports: no layer,
dense layers, a learned router, keys that do not move, a modern backbone."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, vary
from somelab.config.presets.series_a import a1
from somelab.config.versions import Settings

SERIES = "baselines with the rest of a1"


def no_ffn() -> Preset:
    return _baseline("no-ffn", "attention only", {"model.feed_forward": "none"})


def dense() -> Preset:
    return _baseline("dense", "a trained FFN of a1's active size", {"model.feed_forward": "dense"})


def frozen_dense() -> Preset:
    return _baseline(
        "frozen-dense", "the same FFN, random and frozen", {"model.feed_forward": "frozen_dense"}
    )


def moe() -> Preset:
    changes = {"model.feed_forward": "moe", "router.balance_loss": 0.01}
    return _baseline("moe", "learned router, trained experts", changes)


def fixed_keys() -> Preset:
    return _baseline("fixed-keys", "a1 with keys that never move", {"gravity.keys": "fixed"})


def gradient_keys() -> Preset:
    return _baseline("gradient-keys", "a1 with keys trained by gradient", {"gravity.keys": "gradient"})


def modern() -> Preset:
    return _baseline("modern", "a1 on the modern backbone", {"model.backbone": "modern"})


def _baseline(name: str, title: str, changes: Settings) -> Preset:
    return vary(
        a1(), name, title, changes, stated=False, series=SERIES, source="not in the reports; the rest as a1"
    )
