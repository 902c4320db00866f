"""What all arms together tell of the variance between random seeds, for a test that has three seeds of its
own (`somelab.analysis.noise`).

Arms with the same backbone and text count as samples of one kind, without those whose seeds differ so much
more that they are of another kind (some of their runs diverge): a test of such an arm has the variance of its
own seeds. A contrast of different arms has the sum
of their variances. Runs of the same seed are positively correlated, which makes it smaller, so the sum is
conservative. A contrast of two figures of one run has a variance of its own, of which other arms tell
nothing."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from statistics import variance

from somelab.analysis.noise import Noise, noise_of
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.claims.claim import Test

Samples = dict[tuple[str, str], dict[int, Mapping[str, float]]]
"""Figures by arm and configuration, then by seed."""


class SeedNoise:
    """Estimates the noise of each kind of arm and figure once, when it is first asked for."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self._found: dict[tuple[tuple[str, bool], str], Noise | None] = {}

    def of(self, test: Test) -> Noise | None:
        """Of a test's weighted sum; None where other arms tell nothing of it."""
        arms, figures = [arm for arm, _, _ in test.terms], {figure for _, figure, _ in test.terms}
        if len(figures) > 1 or len(set(arms)) < len(arms):
            return None
        (figure,) = figures
        known = [(arm, self.of_kind(ARMS[arm].kind, figure)) for arm in arms if arm in ARMS]
        found = [noise for arm, noise in known if noise is not None and self._is_alike(arm, figure, noise)]
        if len(found) < len(arms):
            return None
        weights = [weight for _, _, weight in test.terms]
        common = fsum(weight**2 * noise.variance for weight, noise in zip(weights, found, strict=True))
        return Noise(common, min(noise.freedom for noise in found))

    def _is_alike(self, arm: str, figure: str, noise: Noise) -> bool:
        """Whether the arm's own runs differ no more than those of its kind."""
        samples = [_values(runs, figure) for (name, _), runs in self.samples.items() if name == arm]
        return all(variance(sample) <= noise.largest for sample in samples if len(sample) > 1)

    def of_kind(self, kind: tuple[str, bool], figure: str) -> Noise | None:
        """Of a figure of one run; `kind` as `ArmSettings.kind` has it."""
        if (kind, figure) not in self._found:
            alike = [runs for (arm, _), runs in self.samples.items() if ARMS[arm].kind == kind]
            self._found[kind, figure] = noise_of([_values(runs, figure) for runs in alike])
        return self._found[kind, figure]


def _values(runs: Mapping[int, Mapping[str, float]], figure: str) -> list[float]:
    return [run[figure] for run in runs.values() if figure in run]
