"""Which blocks are worth their cost: by hand on four points, and the page that says so."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import pytest

from somelab.analysis.intervals import Interval
from somelab.experiments.ledger import frontier
from somelab.experiments.ledger.frontier import Block, Point
from somelab.experiments.ledger.frontier_page import on_frontier, page


def point(title: str, loss: float, trained: int, time: float | None = None, reach: float = 0.01) -> Point:
    interval = Interval(loss, loss - reach, loss + reach, 3)
    return Point(
        Block(title, title, "dense"), "published", 0.016, interval, trained, 10 * trained, 4 * trained, time
    )


POINTS = [
    point("none", 3.50, 100, 1.0),
    point("small", 3.40, 200, 1.2),
    point("slow", 3.39, 200, 2.0),  # level with small: neither beats the other
    point("wasteful", 3.45, 400, 3.0),
    point("large", 3.20, 800),
]


def test_a_block_is_left_out_where_a_cheaper_one_is_clearly_better() -> None:
    names = [one.block.title for one in on_frontier(POINTS, "trained")]
    assert names == ["none", "slow", "small", "large"]


def test_a_difference_within_the_intervals_beats_nobody() -> None:
    wide = [point("cheap", 3.40, 100, reach=0.05), point("dear", 3.43, 200, reach=0.01)]
    assert len(on_frontier(wide, "trained")) == 2


def test_a_cost_that_was_not_measured_leaves_a_block_out() -> None:
    assert [one.block.title for one in on_frontier(POINTS, "step_time")] == ["none", "small", "slow"]


def test_the_page_names_them() -> None:
    ledger = cast(Any, type("Ledger", (), {"seeds": (0, 1, 2), "scale": "micro", "length": "short"})())
    text = page(ledger, POINTS, "images/frontier.svg")
    assert "- **trained weights**: none (3.500), slow (3.390), small (3.400), large (3.200)" in text
    assert "| large | 3.2000 | 3.1900 to 3.2100 |" in text
    assert "![Loss against" in text


class Clock:
    """A stepper whose first step in a row is slow, as with cold caches."""

    def __init__(self, log: list[str], name: str, seconds: float) -> None:
        self.log, self.name, self.seconds = log, name, seconds

    def cpu_seconds(self, *, gravity: bool) -> float:
        assert gravity
        cold = not self.log or self.log[-1] != self.name
        self.log.append(self.name)
        return self.seconds + cold


def test_a_round_times_every_arm_with_warm_caches_in_an_order_of_its_own() -> None:
    log: list[str] = []
    steppers: Any = {name: Clock(log, name, 0.1 * place) for place, name in enumerate("abcdef", 1)}
    orders: set[str] = set()
    for number in range(4):
        log.clear()
        found = frontier._seconds_of_round(steppers, Random(number))
        assert found == {name: pytest.approx(0.1 * place) for place, name in enumerate("abcdef", 1)}
        assert len(log) == 6 * frontier.STEPS
        orders.add("".join(log[:: frontier.STEPS]))
    assert len(orders) > 1
