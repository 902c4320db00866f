"""Runs side by side: which of them are equal but for the random seed, and their figures with intervals over
seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from somelab.analysis.intervals import interval
from somelab.config import Config, digest, override
from somelab.runs import RunFolder

FREE = {"train.seed": 0, "data.source": "builtin"}
"""What may differ within a group and is cleared before comparing: the random seed, and the name of the data
(their digests must agree)."""


@dataclass(frozen=True)
class Spread:
    """A mean over seeds. One value alone has no interval."""

    mean: float | None
    low: float | None
    high: float | None
    values: list[float | None]


def likeness(config: Config, data_digest: str | None) -> str:
    """Equal for runs that differ only in the random seed."""
    return f"{digest(override(config, FREE))}/{data_digest}"


def likeness_of(run: RunFolder) -> str:
    """The same of a folder."""
    data = run.facts().get("data")
    found = data.get("digest") if isinstance(data, Mapping) else None
    return likeness(run.config(), str(found) if found else None)


def spread(values: Sequence[float | None]) -> Spread:
    """Mean and 95 % interval of the finite values."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return Spread(None, None, None, list(values))
    found = interval(known)
    low, high = (bound if math.isfinite(bound) else None for bound in (found.low, found.high))
    return Spread(found.mean, low, high, list(values))
