"""The learning rates of the ledger's arms at one scale and length: a search for each, and whether it is
reliable."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from somelab.config import Config
from somelab.experiments.claims import CLAIMS
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.claims.shell import ANCHOR, FIRST_RATES, LedgerLength, LedgerScale
from somelab.experiments.ledger.records import Records
from somelab.experiments.runner.plan import Job
from somelab.experiments.tuning.curve import Curve, trials_of
from somelab.experiments.tuning.search import FACTOR
from somelab.experiments.tuning.tuner import Tuner

REPEATS = 1
"""Further seeds for the best rates of an arm whose claims are judged at two lengths."""
SAME_RATE = FACTOR**0.75
"""Two best rates on the grid count as the same up to one half step."""


def searches_of(arm: str) -> list[str]:
    """The arms whose learning rate has to be searched before this one is trained for verdicts: its own, or
    that of the arm whose rate it takes, and the two that check whether it may."""
    leader, check = ARMS[arm].tuned_as, ARMS[arm].checked_by
    return list(dict.fromkeys([leader or arm, *(check or ())]))


def searches_for(arms: Iterable[str]) -> list[str]:
    """Those of several arms, each once."""
    return list(dict.fromkeys(name for arm in arms for name in searches_of(arm)))


def fine_arms() -> set[str]:
    """Arms of claims that are judged at two lengths: their rates are searched in steps half as large."""
    return {name for claim in CLAIMS.values() if len(claim.lengths) > 1 for name in searches_for(claim.arms)}


class Rates:
    """The searches that some arms need, and the rates that they have found."""

    def __init__(
        self,
        folder: Path,
        arms: Iterable[str],
        scale: LedgerScale,
        length: LedgerLength,
        config_of: Callable[[str], Config],
        records: Records,
    ) -> None:
        """`folder`: of all tuning runs. `config_of`: an arm's configuration, whose learning rate does not
        count."""
        self.scale: LedgerScale = scale
        self.length: LedgerLength = length
        self.records = records
        known = {digest: partial(trials_of, record) for digest, record in records.curves.items()}
        fine = fine_arms()
        self.tuners = {
            name: Tuner(
                name,
                config_of(name),
                folder,
                anchor=ANCHOR,
                start=self._start(name),
                fine=name in fine,
                # A long run costs four times as much, and its best rate lies near that of the short one.
                num_repeats=REPEATS if name in fine and length == "short" else 0,
                scale=scale,
                preset=ARMS[name].preset,
                known=known,
            )
            for name in searches_for(arms)
        }
        self.look()

    def look(self) -> None:
        """Read how far every search is."""
        self.curves: dict[str, Curve] = {name: tuner.curve() for name, tuner in self.tuners.items()}

    def _start(self, name: str) -> int:
        """Where a search begins, as an index on the grid: for a long run at the best rate of the short one,
        if known."""
        short = self._best_of_short_run(name) if self.length == "long" else None
        return FIRST_RATES[self.scale] + ARMS[name].first_rate if short is None else short

    def _best_of_short_run(self, name: str) -> int | None:
        curves = self.records.curves.values()
        found = [
            one for one in curves if (one["arm"], one["scale"], one["length"]) == (name, self.scale, "short")
        ]
        best = next((one["best"] for one in found if one["standing"] == "tuned"), None)
        return None if best is None else round(2 * math.log(best / ANCHOR, FACTOR))

    def rate(self, arm: str) -> float | None:
        """The tuned learning rate of an arm; None if there is no reliable one."""
        return None if self.problem(arm) else self.curves[ARMS[arm].tuned_as or arm].best

    def problem(self, arm: str) -> str:
        """Why an arm counts as untuned, in a few words; empty where it is tuned."""
        leader, check = ARMS[arm].tuned_as or arm, ARMS[arm].checked_by
        if not self.curves[leader].is_tuned:
            return f"the best learning rate of {leader} is {_words(self.curves[leader])}"
        if check is None:
            return ""
        for name in check:
            if not self.curves[name].is_tuned:
                return (
                    f"it takes the learning rate of {leader}; that of {name}, which checks it, is "
                    f"{_words(self.curves[name])}"
                )
        one, other = (self.curves[name].best for name in check)
        assert one is not None
        assert other is not None
        if max(one / other, other / one) > SAME_RATE:
            return (
                f"it takes the learning rate of {leader}, but {check[0]} is best at {one:g} and {check[1]} "
                f"at {other:g}: it needs a search of its own"
            )
        return ""

    def jobs(self, arms: Iterable[str]) -> list[Job]:
        """The tuning runs that these arms need next."""
        return [job for name in searches_for(arms) for job in self.tuners[name].jobs(self.curves[name])]

    def new_records(self) -> list[dict[str, Any]]:
        """Every curve that has a run, for the record."""
        where = {"scale": self.scale, "length": self.length}
        return [{**curve.record(), **where} for curve in self.curves.values() if curve.trials]


def _words(curve: Curve) -> str:
    ways = {
        "unfinished": "not found yet",
        "at the edge": "at the edge of its grid",
        "failed": f"unknown ({curve.broken})",
    }
    return ways.get(curve.standing, curve.standing)
