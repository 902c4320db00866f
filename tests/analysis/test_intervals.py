"""Intervals over seeds: Student's t against printed tables and closed forms, means and paired differences by
hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from somelab.analysis.intervals import incomplete_beta, interval, paired, t_probability, t_quantile

# Two-sided 90, 95 and 99 %, as printed tables have them.
TABLE = {
    1: (6.314, 12.706, 63.657),
    2: (2.920, 4.303, 9.925),
    3: (2.353, 3.182, 5.841),
    4: (2.132, 2.776, 4.604),
    9: (1.833, 2.262, 3.250),
    30: (1.697, 2.042, 2.750),
    120: (1.658, 1.980, 2.617),
}


@pytest.mark.parametrize("freedom", TABLE)
def test_t_quantiles_are_those_of_the_tables(freedom: int) -> None:
    assert [round(t_quantile(p, freedom), 3) for p in (0.95, 0.975, 0.995)] == list(TABLE[freedom])


def test_closed_forms() -> None:
    # One degree of freedom is Cauchy's law, two have t / sqrt(2 + t^2).
    for t in (-3.0, -0.5, 0.0, 0.1, 2.0, 40.0):
        assert t_probability(t, 1) == pytest.approx(0.5 + math.atan(t) / math.pi, abs=1e-12)
        assert t_probability(t, 2) == pytest.approx(0.5 + t / (2 * math.sqrt(2 + t * t)), abs=1e-12)
    # I_x(1, b) = 1 - (1 - x)^b and I_x(a, 1) = x^a.
    for x in (0.0, 0.01, 0.5, 0.99, 1.0):
        assert incomplete_beta(x, 1, 3.5) == pytest.approx(1 - (1 - x) ** 3.5, abs=1e-12)
        assert incomplete_beta(x, 2.5, 1) == pytest.approx(x**2.5, abs=1e-12)


@given(st.floats(0.001, 0.999), st.integers(1, 200))
def test_quantile_and_probability_undo_each_other(probability: float, freedom: int) -> None:
    t = t_quantile(probability, freedom)
    assert t_probability(t, freedom) == pytest.approx(probability, abs=1e-9)
    assert t_quantile(1 - probability, freedom) == pytest.approx(-t, abs=1e-6, rel=1e-6)


def test_an_interval_by_hand() -> None:
    # Mean 2, deviation 1, three values: 4.30265 / sqrt(3) = 2.48414.
    found = interval([1.0, 2.0, 3.0])
    assert (found.mean, found.num) == (2.0, 3)
    assert found.half_width == pytest.approx(2.48414, abs=1e-5)
    assert not found.excludes_zero
    assert interval([2.0, 2.1, 2.2]).excludes_zero


def test_seeds_that_agree_have_no_width_and_one_seed_no_bound() -> None:
    assert interval([0.5, 0.5, 0.5]).half_width == 0
    alone = interval([0.5])
    assert (alone.low, alone.high) == (-math.inf, math.inf)
    assert not alone.excludes_zero
    with pytest.raises(ValueError, match="at least one value"):
        interval([])


def test_pairs_drop_what_a_seed_shares() -> None:
    base = [10.0, 20.0, 30.0]
    better = [value - 1 for value in base]
    assert not interval(better).low > interval(base).high
    assert (paired(better, base).low, paired(better, base).high) == (-1.0, -1.0)
    with pytest.raises(ValueError, match="zip"):
        paired([1.0], [1.0, 2.0])


@pytest.mark.parametrize(("probability", "freedom"), [(0.0, 3), (1.0, 3), (0.9, 0)])
def test_impossible_quantiles_are_refused(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(probability, freedom)
