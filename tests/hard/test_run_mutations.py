"""Ten thousand random damages to a run folder and its data: see tests/runs/mutations.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.mutations import mutate
from tests.runs.test_mutations import subject_of


@pytest.mark.hard
def test_ten_thousand_damages(text: Path, tmp_path: Path) -> None:
    outcomes = mutate(subject_of(text, tmp_path), num_trials=10_000, seed=1)
    print(dict(outcomes))
    assert outcomes.total() == 10_000
    assert outcomes["refused"] > 8_000, outcomes
