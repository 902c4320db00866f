"""The fuzzers of tests/cli with thousands of inputs, other ones than there. Each is answered in one line, and
soon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli import fuzzing
from tests.hard.amounts import LONGEST, SEED, amount
from tests.hard.conftest import Tell

pytestmark = pytest.mark.hard
NUMBER = 5000
Fuzz = Callable[[int, int, Path], Counter[int]]
FUZZERS: dict[str, Fuzz] = {
    "settings": lambda seed, number, _: fuzzing.fuzz_overrides(seed, number),
    "config files": fuzzing.fuzz_configs,
    "plans of sweeps": fuzzing.fuzz_plans,
    "data files": fuzzing.fuzz_data,
    "command lines of every verb": fuzzing.fuzz_arguments,
}


@pytest.mark.parametrize("name", FUZZERS)
def test_hostile_input(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOMELAB_CACHE", str(tmp_path / "cache"))
    number = amount(NUMBER)
    with fuzzing.timed() as times:
        seen = FUZZERS[name](2 + SEED, number, tmp_path)
    assert seen.total() == number
    assert max(times) < LONGEST
    outcome = {
        "accepted": seen[0],
        "refused in one line": seen[2],
        "tracebacks": 0,
        "slowest (s)": max(times),
    }
    tell(f"hostile {name}", number, outcome)
