"""The harness itself: turns, warm-up, limits, and what is said of a list of seconds. No real clock is
asked."""

from __future__ import annotations

import pytest

from somelab.bench.measuring import LEAST_REPETITIONS, Contender, Timing, measure, one_line


class Clock:
    """Time that passes only where a contender says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[str] = []

    def __call__(self) -> float:
        return self.now

    def contender(self, name: str, seconds: float, before: float = 0.0) -> Contender:
        def run() -> None:
            self.log.append(name)
            self.now += seconds

        def wait() -> None:
            self.now += before

        return Contender(name, run, wait if before else None)


def test_everyone_takes_turns_after_a_warm_up_and_each_repetition_begins_with_another() -> None:
    clock = Clock()
    measure([clock.contender(name, 1.0) for name in "abc"], repetitions=4, budget=1000, clock=clock)
    assert "".join(clock.log) == "abc" + "abc" + "bca" + "cab" + "abc"


def test_a_long_contender_may_warm_up_with_a_part() -> None:
    clock = Clock()
    long = clock.contender("long", 100.0)
    part = Contender("long", long.run, warm_up=clock.contender("part", 1.0).run)
    measured = measure([part], 2, budget=0.0, clock=clock)
    assert clock.log == ["part", "long", "long"]
    assert measured.timings["long"].seconds == (100.0, 100.0)


def test_only_run_is_timed() -> None:
    clock = Clock()
    measured = measure(
        [clock.contender("a", 2.0, before=50.0), clock.contender("b", 3.0)], 3, budget=1e9, clock=clock
    )
    assert measured.timings["a"].seconds == (2.0, 2.0, 2.0)
    assert measured.timings["b"].seconds == (3.0, 3.0, 3.0)


def test_the_budget_ends_it_but_three_repetitions_are_made() -> None:
    clock = Clock()
    measured = measure([clock.contender("slow", 10.0)], repetitions=9, budget=1.0, clock=clock)
    assert len(measured.timings["slow"].seconds) == LEAST_REPETITIONS == 3
    clock = Clock()
    measured = measure([clock.contender("a", 1.0)], repetitions=9, budget=5.5, clock=clock)
    assert len(measured.timings["a"].seconds) == 5  # one second of warm-up, and the sixth would begin after 6


def test_fewer_than_three_where_fewer_are_asked_for() -> None:
    clock = Clock()
    assert len(measure([clock.contender("a", 1.0)], 1, budget=0.0, clock=clock).timings["a"].seconds) == 1


def test_a_guest_that_fails_has_a_reason_and_no_time() -> None:
    def fails() -> None:
        raise RuntimeError("no such\n  kernel")

    clock = Clock()
    measured = measure(
        [clock.contender("a", 1.0), Contender("guest", fails, may_fail=True)], 3, budget=10, clock=clock
    )
    assert set(measured.timings) == {"a"}
    assert measured.problems == {"guest": "RuntimeError: no such kernel"}
    with pytest.raises(RuntimeError, match="kernel"):
        measure([Contender("ours", fails)], 3, budget=10, clock=clock)


def test_median_and_quartiles_by_hand() -> None:
    timing = Timing((5.0, 1.0, 3.0, 2.0, 4.0))
    assert timing.median == 3.0
    assert timing.quartiles == (2.0, 4.0)
    assert timing.best == 1.0
    assert Timing((7.0,)).quartiles == (7.0, 7.0)
    assert Timing((1.0, 3.0)).quartiles == (1.5, 2.5)


def test_a_long_error_is_cut_to_one_line() -> None:
    text = one_line(ValueError("x" * 1000))
    assert len(text) == 160
    assert text.startswith("ValueError: xxx")
    assert text.endswith("…")
