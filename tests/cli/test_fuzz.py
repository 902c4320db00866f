"""Some hundred inputs that no one should give, each answered by success or by one line and exit code 2;
thousands are in tests/hard."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import fuzzing

SEED = 1


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is written by mistake may end up in the checkout."""
    monkeypatch.chdir(tmp_path)


def test_settings() -> None:
    seen = fuzzing.fuzz_overrides(SEED, 150)
    assert seen[0] > 10
    assert seen[2] > 50


def test_configuration_files(tmp_path: Path) -> None:
    seen = fuzzing.fuzz_configs(SEED, 60, tmp_path)
    assert seen[0] > 1
    assert seen[2] > 30


def test_plans_of_sweeps(tmp_path: Path) -> None:
    seen = fuzzing.fuzz_plans(SEED, 100, tmp_path)
    assert seen[0] > 1
    assert seen[2] > 50


def test_data_files(tmp_path: Path) -> None:
    seen = fuzzing.fuzz_data(SEED, 40, tmp_path)
    assert seen[0] > 5
    assert seen[2] > 10


def test_command_lines_of_every_verb(tmp_path: Path) -> None:
    seen = fuzzing.fuzz_arguments(SEED, 120, tmp_path)
    assert seen[2] > 80
