"""Settings of which only one may be set: giving one clears the others, unless those are given too. So
`--train.steps 100` needs no `--train.epochs null`; giving both is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# At most one of each row holds a value: giving one empties the rest.
ALTERNATIVES = (
    ("train.epochs", "train.steps", "train.minutes"),
    ("gravity.theta", "gravity.theta_percentile"),
)
# Giving the setting on the left that value also gives the one on the right; rows below follow from it.
CONSEQUENCES = {
    ("data.layout", "pack"): ("data.padding_in_loss", False),
    ("data.padding_in_loss", False): ("gravity.count_padding", False),
}


def implied(given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that follow from the given ones, by dotted name; a given setting is never changed.

    >>> implied({"train.steps": 100})
    {'train.epochs': None, 'train.minutes': None}
    """
    follows: dict[str, Any] = {}
    for row in ALTERNATIVES:
        if any(given.get(name) is not None for name in row):
            follows.update(dict.fromkeys(row))
    for (name, value), (other, consequence) in CONSEQUENCES.items():
        if {**follows, **given}.get(name) == value:
            follows[other] = consequence
    return {name: value for name, value in follows.items() if name not in given}
