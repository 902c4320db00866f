"""The variance between random seeds, estimated from many small samples together.

Three runs hardly tell how far runs of the same settings lie apart: their 95 % interval is 2.5 standard
deviations wide on either side, and the standard deviation itself may be off by a factor of two. Many samples
of three tell more. If their true variances follow a scaled inverse chi-squared distribution, its mean and
width can be estimated from all of them, and each sample's own variance is drawn towards that mean, the less
the more the samples differ: the moderated t of Smyth 2004, "Linear models and empirical Bayes methods for
assessing differential expression in microarray experiments". Where all samples agree, this is the pooled
variance; where they differ widely, every sample keeps its own.

A sample far outside that distribution, such as runs of which one diverged, would widen it for all others and
be drawn towards a variance that is not its own. Such outliers are left out on both sides, in the spirit of
Phipson et al. 2016, "Robust hyperparameter estimation protects against hypervariable genes"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles, variance

LEAST_VALUES = 3
LEAST_SAMPLES = 10
"""With fewer, the estimate is worse than what it replaces."""
MOST_FREEDOM = 100.0
"""Degrees of freedom that an estimate counts for at most, where samples differ no more than by chance."""
FENCE = 1.5
"""Tukey's: a log variance this many interquartile ranges above the upper quartile is an outlier. Of samples
of three with equal true variances, one in two million is."""


@dataclass(frozen=True)
class Noise:
    """What is known of the variance of a sample before it is drawn."""

    variance: float
    freedom: float
    """How much that counts, in degrees of freedom."""
    largest: float = math.inf
    """It says nothing of samples with a greater variance than this."""

    def moderated(self, own: float, freedom: int) -> Noise:
        """Together with a sample's own variance, which has some degrees of freedom."""
        total = self.freedom + freedom
        return Noise((self.freedom * self.variance + freedom * own) / total, total)


def noise_of(samples: Sequence[Sequence[float]]) -> Noise | None:
    """The common variance of those samples that have three values or more, without outliers. None if they
    are too few, or if one has no variance at all: then the model does not apply.

    By moments of e = ln s^2 - psi(d / 2) + ln(d / 2), s^2 the variance of a sample and d its degrees of
    freedom: its mean is ln s_0^2 - psi(d_0 / 2) + ln(d_0 / 2), its variance psi'(d / 2) + psi'(d_0 / 2)."""
    used = [(variance(sample), (len(sample) - 1) / 2) for sample in samples if len(sample) >= LEAST_VALUES]
    if len(used) < LEAST_SAMPLES or not min(own for own, _ in used) > 0:
        return None
    largest = _fence([own for own, _ in used])
    kept = [(own, half) for own, half in used if own <= largest]
    logs = [math.log(own) - _polygamma(0, half) + math.log(half) for own, half in kept]
    excess = variance(logs) - fmean(_polygamma(1, half) for _, half in kept)
    half = _inverse_trigamma(excess)
    return Noise(math.exp(fmean(logs) + _polygamma(0, half) - math.log(half)), 2 * half, largest)


def _fence(variances: Sequence[float]) -> float:
    """The largest variance that is no outlier among these."""
    lower, _, upper = quantiles((math.log(own) for own in variances), n=4, method="inclusive")
    return math.exp(upper + FENCE * (upper - lower))


def _inverse_trigamma(value: float) -> float:
    """The x with psi'(x) = value, between 0 and half of the most degrees of freedom. psi' falls."""
    low, high = 1e-3, MOST_FREEDOM / 2
    if value <= _polygamma(1, high):
        return high
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _polygamma(1, middle) > value else (low, middle)
    return high


def _polygamma(order: int, x: float) -> float:
    import torch

    return float(torch.special.polygamma(order, torch.tensor(x, dtype=torch.float64)))
