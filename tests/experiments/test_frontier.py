"""Which blocks are worth their cost: by hand on four points, and the page that says so."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from somelab.analysis.intervals import Interval
from somelab.experiments.ledger import frontier
from somelab.experiments.ledger.frontier import Block, Point
from somelab.experiments.ledger.frontier_page import COSTS, Part, draw, on_frontier, page


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
    text = page("micro", [Part("micro", "short", POINTS, "images/frontier.svg")])
    assert "- **trained weights**: none (3.500), slow (3.390), small (3.400), large (3.200)" in text
    assert "| large | 3.2000 | 3.1900 to 3.2100 |" in text
    assert "## After 1.0 M tokens" in text
    assert "![Loss against" in text


def test_at_a_glance_some_is_compared_with_the_best_trained_block_that_costs_no_more() -> None:
    some = replace(point("some", 3.30, 400, 1.1), block=Block("credit-x4", "some, E 64", "some"))
    lucky = replace(point("lucky", 3.10, 100, 1.0), block=Block("credit-x16", "some, E 256", "some"))
    long = [point("none", 3.25, 100, 1.0, reach=0.1), some]
    result = {"scale": "micro", "length": "long", "effect": 0.25, "low": 0.2, "high": 0.3}
    claim = {"claim": "credit-beats-equal-dense-in-equal-time", "results": [result]}
    parts = [
        Part("micro", "short", [*POINTS, some, lucky], "a.svg", [claim]),
        Part("micro", "long", long, "b.svg", [claim]),
    ]
    short_row, long_row = (
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in page("micro", parts).splitlines()
        if line.startswith("| published |")
    )
    # The large block is better and costs more; another SoME block is no rival.
    assert short_row == ["published", "1.0 M", *["**better**, -0.090 (slow)"] * 3, ""]
    assert long_row == [
        "published",
        "4.1 M",
        *["**level**, +0.050 (none)"] * 3,
        "**worse**, +0.250 (dense, 1 D)",
    ]


def test_the_figure_has_a_panel_for_each_cost() -> None:
    pytest.importorskip("matplotlib")
    some = replace(point("some", 3.30, 400, 1.1), block=Block("credit-x4", "some, E 64", "some"))
    drawn = draw([*POINTS, some])
    assert [axes.get_xlabel() for axes in drawn.axes] == list(COSTS.values())
    widths = {text.get_text() for text in drawn.axes[0].texts}
    assert widths == {one.block.title for one in POINTS}  # blocks of the dense family carry their names


def test_nearly_equal_costs_are_drawn_near_each_other() -> None:
    pytest.importorskip("matplotlib")
    trained = draw([point("one", 3.4, 307_680), point("other", 3.3, 307_682)]).axes[0]
    low, high = trained.get_xlim()
    assert high == pytest.approx(1.5 * low)
    assert low < 307_680 < 307_682 < high


def test_a_store_without_runs_has_a_page_without_points() -> None:
    assert "## After" not in page("micro", [])


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
