"""Means and 95 % intervals over random seeds, and over differences that are paired by seed. With Student's t:
for three seeds its quantile is 4.3, where the normal distribution's 1.96 would be too narrow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from somelab.analysis.noise import Noise

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and the range that holds the true one with the given confidence."""

    mean: float
    low: float
    """Minus infinity if there is only one seed, which gives no spread."""
    high: float
    num: int
    """Number of values."""

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    def stretched(self, factor: float) -> Interval:
        """As many times as wide, around the same mean."""
        low, high = (self.mean + factor * (bound - self.mean) for bound in (self.low, self.high))
        return replace(self, low=low, high=high)

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def interval(values: Sequence[float], confidence: float = CONFIDENCE, noise: Noise | None = None) -> Interval:
    """Mean +- t s / sqrt(n), with s the standard deviation over n - 1. `noise`: what other samples tell of
    the variance, if they do.

    >>> found = interval([1.0, 2.0, 3.0])
    >>> found.mean, round(found.half_width, 4)
    (2.0, 2.4841)
    """
    num = len(values)
    if not num:
        raise ValueError("an interval needs at least one value")
    mean = math.fsum(values) / num
    if num == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (num - 1)
    known = Noise(variance, num - 1) if noise is None else noise.moderated(variance, num - 1)
    half = t_quantile((1 + confidence) / 2, known.freedom) * math.sqrt(known.variance / num)
    return Interval(mean, mean - half, mean + half, num)


def paired(values: Sequence[float], base: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The interval of value minus base, paired by seed."""
    return interval([value - other for value, other in zip(values, base, strict=True)], confidence)


@lru_cache
def t_quantile(probability: float, freedom: float) -> float:
    """The value that Student's t with `freedom` degrees stays below with this probability.

    >>> round(t_quantile(0.975, 2), 3)
    4.303
    """
    if not 0 < probability < 1 or freedom < 1:
        raise ValueError(f"no t quantile at probability {probability} with {freedom} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while t_probability(high, freedom) < probability:
        low, high = high, 2 * high
    for _ in range(200):  # halving ends where two floats are neighbours, long before this
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_probability(middle, freedom) < probability else (low, middle)
    return high


def t_probability(t: float, freedom: float) -> float:
    """P(T <= t) for Student's t: 1 - I_x(n/2, 1/2) / 2 with x = n / (n + t^2), mirrored below 0."""
    tail = incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
    return 1 - tail if t >= 0 else tail


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz and Stegun
    26.5.8)."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast below this; above it, the mirrored one does
        return 1 - incomplete_beta(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) / a / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """1 + d_1/(1 + d_2/(1 + ...)), from the inside out; 300 terms suffice for all cases here."""
    value = 1.0
    for term in range(300, 0, -1):
        m = term // 2
        if term % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + d / value
    return value
