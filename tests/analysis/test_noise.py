"""The variance between seeds from many small samples: the estimate recovers what samples were drawn from, and
intervals that use it miss the truth as often as they should."""

from __future__ import annotations

import math

import numpy as np
import pytest

from somelab.analysis.intervals import interval
from somelab.analysis.noise import LEAST_SAMPLES, MOST_FREEDOM, Noise, noise_of


def samples(
    number: int, size: int = 3, freedom: float = math.inf, seed: int = 0, scale: float = 0.01
) -> list[list[float]]:
    """Normal samples whose variances are scale^2 times an inverse chi-squared variable of mean about 1."""
    rng = np.random.default_rng(seed)
    spread = np.ones(number) if math.isinf(freedom) else np.sqrt(freedom / rng.chisquare(freedom, number))
    return (scale * spread[:, None] * rng.normal(size=(number, size)) + 3.5).tolist()


def test_samples_of_one_variance() -> None:
    found = noise_of(samples(400))
    assert found is not None
    assert math.sqrt(found.variance) == pytest.approx(0.01, rel=0.1)
    assert found.freedom > 20


@pytest.mark.parametrize("freedom", [2.0, 6.0])
def test_samples_whose_variances_differ(freedom: float) -> None:
    found = noise_of(samples(2000, size=8, freedom=freedom))
    assert found is not None
    assert math.sqrt(found.variance) == pytest.approx(0.01, rel=0.1)
    assert found.freedom == pytest.approx(freedom, rel=0.35)


def test_samples_that_agree_too_well_count_for_a_hundred_seeds_at_most() -> None:
    found = noise_of([[0.0, 1.0, 2.0]] * LEAST_SAMPLES)
    assert found is not None
    assert found.freedom == MOST_FREEDOM


def test_samples_of_which_one_run_diverged_change_little_for_the_others() -> None:
    regular, diverged = samples(100, freedom=10.0), [[3.5, 3.5, 5.8], [4.4, 5.8, 5.9], [3.5, 5.9, 4.0]]
    found, disturbed = noise_of(regular), noise_of([*regular, *diverged])
    assert found is not None
    assert disturbed is not None
    assert disturbed.variance == pytest.approx(found.variance, rel=0.05)
    assert disturbed.freedom == pytest.approx(found.freedom, rel=0.2)
    assert max(np.var(sample, ddof=1) for sample in regular) < disturbed.largest
    assert disturbed.largest < min(np.var(sample, ddof=1) for sample in diverged)


def test_too_few_samples_or_one_without_variance_tell_nothing() -> None:
    assert noise_of(samples(LEAST_SAMPLES - 1)) is None
    assert noise_of(samples(LEAST_SAMPLES, size=2)) is None
    assert noise_of([*samples(30), [1.0, 1.0, 1.0]]) is None
    assert noise_of([]) is None


def test_an_interval_by_hand() -> None:
    # Own variance 1 with 2 degrees of freedom, 4 with 2 from elsewhere: 2.5 with 4, whose t is 2.776.
    found = interval([1.0, 2.0, 3.0], noise=Noise(4.0, 2.0))
    assert (found.mean, found.num) == (2.0, 3)
    assert found.half_width == pytest.approx(2.7764 * math.sqrt(2.5 / 3), rel=1e-4)
    assert interval([2.0], noise=Noise(4.0, 2.0)).low == -math.inf, "one seed decides nothing"


@pytest.mark.parametrize("freedom", [4.0, math.inf])
def test_one_interval_in_twenty_misses_and_they_are_narrower(freedom: float) -> None:
    missed, widths, alone = list[bool](), list[float](), list[float]()
    for trial in range(120):
        drawn = samples(24, freedom=freedom, seed=trial)
        noise = noise_of(drawn)
        assert noise is not None
        for one, other in zip(drawn[::2], drawn[1::2], strict=True):
            values = [a - b for a, b in zip(one, other, strict=True)]
            found = interval(values, noise=Noise(2 * noise.variance, noise.freedom))
            missed.append(not found.low <= 0 <= found.high)
            widths.append(found.half_width)
            alone.append(interval(values).half_width)
    assert 0.03 < sum(missed) / len(missed) < 0.08
    assert sum(widths) < 0.7 * sum(alone)
