"""Advice on a preset's learning rate from the record: the published ones are far below the best at small
sizes."""

from __future__ import annotations

from somelab.config import Config, preset
from somelab.errors import ConfigError
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.ledger.records import Records

FAR = 2.0
"""A rate that differs from the best by more than this factor is far from it."""


def rate_advice(name: str | None, scale: str, config: Config, records: Records) -> str:
    """One line where a search has found a much better learning rate for this kind of model; else empty.

    `name`: of the preset. Searched are v4 (series A and B), v3.5, v6 and v7, at micro and mini scale. Other
    settings of a run may need another rate, so this is only advice."""
    best = best_rate(name, scale, records) if config.model.feed_forward == "some" else None
    rate = config.train.learning_rate
    if best is None or max(best / rate, rate / best) <= FAR:
        return ""
    return (
        f"learning rate {rate:g} is as published; at {scale} scale a search found {best:g} for this kind of "
        f"model (somelab evidence --list; --train.learning-rate {best:g} sets it)"
    )


def best_rate(name: str | None, scale: str, records: Records) -> float | None:
    """The tuned rate of the arm of a published preset, or None."""
    if name is None:
        return None
    try:
        version = preset(name).version
    except ConfigError:
        return None
    arms = [arm for arm in ("base", "v3.5", "v6", "v7") if preset(ARMS[arm].preset).version == version]
    found = [
        curve["best"]
        for curve in records.curves.values()
        if (curve["scale"], curve["length"], curve["standing"]) == (scale, "short", "tuned")
        and curve["arm"] in arms
    ]
    return float(found[0]) if found and preset(name).stated else None
