"""Ten thousand random damages to a run folder and its data: see tests/runs/mutations.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.mutations import mutate
from tests.runs.test_mutations import subject_of

NUM_TRIALS = 2500


@pytest.mark.hard
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_thousands_of_damages(text: Path, tmp_path: Path, seed: int) -> None:
    outcomes = mutate(subject_of(text, tmp_path), NUM_TRIALS, seed)
    print(dict(outcomes))
    assert outcomes.total() == NUM_TRIALS
    assert outcomes["refused"] > 0.7 * NUM_TRIALS, outcomes
