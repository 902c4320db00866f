"""Ten thousand random damages to a run folder and its data: see tests/runs/mutations.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hard.amounts import SEED, amount
from tests.hard.conftest import Tell
from tests.runs.mutations import mutate
from tests.runs.test_mutations import subject_of

NUM_TRIALS = 2500


@pytest.mark.hard
@pytest.mark.parametrize("part", [1, 2, 3, 4])
def test_thousands_of_damages(text: Path, tmp_path: Path, part: int, tell: Tell) -> None:
    number = amount(NUM_TRIALS, least=40)
    outcomes = mutate(subject_of(text, tmp_path), number, 4 * SEED + part)
    assert outcomes.total() == number
    assert outcomes["refused"] > 0.7 * number, outcomes
    tell("damage to a file of a run", number, {**outcomes, "silent differences": 0, "tracebacks": 0})
