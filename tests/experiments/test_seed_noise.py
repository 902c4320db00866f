"""What other arms tell of a test's variance between seeds: only arms of the same kind and figure, never for
two figures of one run, never from runs on another text."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from somelab.analysis.noise import Noise
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.claims.claim import Test, lower
from somelab.experiments.ledger.noise import Samples, SeedNoise
from somelab.experiments.ledger.records import read
from somelab.experiments.ledger.store import Ledger

PUBLISHED = ("published", False)


def noise_with(spread: float, kind: tuple[str, bool] = PUBLISHED) -> SeedNoise:
    rng = np.random.default_rng(0)
    arms = [name for name, arm in ARMS.items() if arm.kind == kind][:30]
    samples: Samples = {
        (arm, "digest"): {seed: {"val_loss": float(spread * rng.normal())} for seed in range(3)}
        for arm in arms
    }
    return SeedNoise(samples)


def test_a_difference_has_both_variances_and_a_multiple_its_square() -> None:
    noise = noise_with(0.01)
    one = noise.of(Test("", "val_loss", {"base": 1.0}, "at least", 0.1))
    both = noise.of(lower("base", "fixed-keys"))
    twice = noise.of(Test("", "val_loss", {"base": 2.0, "fixed-keys": -1.0}, "below", 0.1))
    assert one is not None
    assert both is not None
    assert twice is not None
    assert one.variance == pytest.approx(1e-4, rel=0.4)
    assert both.variance == pytest.approx(2 * one.variance)
    assert twice.variance == pytest.approx(5 * one.variance)
    assert both.freedom == one.freedom


def test_other_kinds_figures_and_two_figures_of_one_run_have_no_common_variance() -> None:
    noise = noise_with(0.01)
    assert noise.of(lower("modern-modulated", "modern-dense-1d")) is None
    assert noise.of(lower("base", "modern-base")) is None
    assert noise.of(lower("builtin", "builtin-fixed-keys")) is None
    assert noise.of(lower("base", "fixed-keys", measure="gini")) is None
    own = Test("", "shift_loss_active", {"base": 1.0, "base:shift_loss_frozen": -1.0}, "below", 0.1)
    assert noise.of(own) is None
    assert noise_with(0.01, ("modern", False)).of(lower("modern-modulated", "modern-dense-1d")) is not None


def test_an_arm_whose_runs_diverge_has_the_variance_of_its_own_seeds() -> None:
    noise = noise_with(0.01)
    assert noise.of(lower("base", "fixed-keys")) is not None
    for seed, loss in enumerate((3.5, 5.9, 5.8)):
        noise.samples.setdefault(("fixed-keys", "digest"), {})[seed] = {"val_loss": loss}
    assert noise.of(lower("base", "fixed-keys")) is None
    assert noise.of(Test("", "val_loss", {"base": 1.0}, "at least", 0.1)) is not None


def test_the_record_counts_for_the_text_that_it_was_made_with_alone() -> None:
    def found(data: str) -> Noise | None:
        ledger = Ledger(Path("nowhere"), [], "micro", (0, 1, 2), data, records=read())
        return ledger.noise().of_kind(PUBLISHED, "val_loss")

    noise = found("tinystories-train.txt")
    assert noise is not None
    assert 0.003 < math.sqrt(noise.variance) < 0.01
    assert found("other-stories.txt") is None
