"""Advice on a preset's learning rate from the record: the published ones are far below the best at small
sizes."""

from __future__ import annotations

from somelab.config import Config, preset
from somelab.errors import ConfigError
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.ledger.records import Records

FAR = 2.0
"""A rate that differs from the best by more than this factor is far from it."""
BASELINES = {
    "no-ffn": "no-ffn",
    "dense": "dense-4d",
    "moe": "moe",
    "fixed-keys": "fixed-keys",
    "gradient-keys": "gradient-keys",
    "modern": "modern-base",
}
"""The arm of the ledger that is most like a baseline."""


def rate_advice(name: str | None, scale: str, config: Config, records: Records) -> str:
    """One line where a search has found a much better learning rate for this kind of model; else empty.

    `name`: of the preset. Searched are v4 (series A and B), v3.5, v6, v7 and baselines, at micro and mini
    scale. Other settings of a run may need another rate, so this is only advice."""
    best, rate = best_rate(name, scale, records), config.train.learning_rate
    if best is None or max(best / rate, rate / best) <= FAR:
        return ""
    origin = "that of a1" if name in BASELINES else "as published"
    return (
        f"learning rate {rate:g} is {origin}; at {scale} scale a search found {best:g} for this kind of "
        f"model (somelab evidence --list; --train.learning-rate {best:g} sets it)"
    )


def best_rate(name: str | None, scale: str, records: Records) -> float | None:
    """The tuned rate of the arm of a published preset or of a baseline, or None."""
    arms = _arms_like(name)
    found = [
        curve["best"]
        for curve in records.curves.values()
        if (curve["scale"], curve["length"], curve["standing"]) == (scale, "short", "tuned")
        and curve["arm"] in arms
    ]
    return float(found[0]) if found else None


def _arms_like(name: str | None) -> list[str]:
    if name is None:
        return []
    if name in BASELINES:
        return [BASELINES[name]]
    try:
        known = preset(name)
    except ConfigError:
        return []
    published = known.stated and known.config.model.feed_forward == "some"
    arms = ("base", "v3.5", "v6", "v7") if published else ()
    return [arm for arm in arms if preset(ARMS[arm].preset).version == known.version]
