"""Interleaved timing of several implementations: each repetition runs every contender once, so that other
load on the machine affects all of them. Reports medians and quartiles over the repetitions."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

LEAST_REPETITIONS = 3
LONGEST_NOTE = 160


@dataclass(frozen=True)
class Contender:
    """One implementation. `before` runs ahead of each repetition and is not timed."""

    name: str
    run: Callable[[], Any]
    before: Callable[[], Any] | None = None
    warm_up: Callable[[], Any] | None = None
    """Runs once at the start; None: `run` itself. A long run of equal parts may use a few of them."""
    may_fail: bool = False
    """Foreign code and optional engines: their exceptions are reported in their row."""


@dataclass(frozen=True)
class Timing:
    """The seconds of every repetition, and their statistics."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Between them lies the middle half of the repetitions."""
        if len(self.seconds) == 1:
            return self.seconds[0], self.seconds[0]
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return low, high


@dataclass(frozen=True)
class Measured:
    """Timings by name; a contender that failed is in `problems` instead, with its message."""

    timings: dict[str, Timing]
    problems: dict[str, str]


def measure(
    contenders: Sequence[Contender],
    repetitions: int,
    budget: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Measured:
    """Warm every contender up, then time all of them `repetitions` times, in turn.

    When `budget` seconds are over no further repetition begins, but three are made in any case. Each
    repetition begins with another contender, so that none always follows the slowest."""
    assert len({contender.name for contender in contenders}) == len(contenders)
    running, problems = list[Contender](), dict[str, str]()
    started = clock()
    for contender in contenders:
        try:
            _once(
                contender if contender.warm_up is None else replace(contender, run=contender.warm_up), clock
            )
            running.append(contender)
        except Exception as error:
            if not contender.may_fail:
                raise
            problems[contender.name] = one_line(error)
    seconds: dict[str, list[float]] = {contender.name: [] for contender in running}
    was_enabled = gc.isenabled()
    gc.disable()  # a collection would distort one contender's time
    try:
        for repetition in range(repetitions):
            if repetition >= LEAST_REPETITIONS and clock() - started > budget:
                break
            gc.collect(1)  # young objects only: a full collection walks every module that is loaded
            first = repetition % max(1, len(running))
            for contender in running[first:] + running[:first]:
                seconds[contender.name].append(_once(contender, clock))
    finally:
        if was_enabled:
            gc.enable()
    return Measured({name: Timing(tuple(values)) for name, values in seconds.items()}, problems)


def one_line(error: Exception) -> str:
    """An error message, short enough for a table."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= LONGEST_NOTE else f"{text[: LONGEST_NOTE - 1]}…"


def _once(contender: Contender, clock: Callable[[], float]) -> float:
    if contender.before is not None:
        contender.before()
    start = clock()
    contender.run()
    return clock() - start
