"""The few settings that `somelab train` and `somelab.train` take by a short name."""

from __future__ import annotations

from typing import Any

DEFAULT_PRESET = "some"
SHORT_NAMES = {
    "data": "data.source",
    "steps": "train.steps",
    "epochs": "train.epochs",
    "minutes": "train.minutes",
    "seed": "train.seed",
}


def given_short(**values: Any) -> dict[str, Any]:
    """Settings by dotted name from those given by short name; None: not given.

    >>> given_short(steps=3, seed=None)
    {'train.steps': 3}
    """
    return {SHORT_NAMES[name]: value for name, value in values.items() if value is not None}
