"""The fuzzers of tests/cli with thousands of inputs, other ones than there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import fuzzing

pytestmark = pytest.mark.hard
SEED, NUMBER = 2, 5000


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOMELAB_CACHE", str(tmp_path / "cache"))


def test_settings() -> None:
    assert fuzzing.fuzz_overrides(SEED, NUMBER).total() == NUMBER


def test_configuration_files(tmp_path: Path) -> None:
    assert fuzzing.fuzz_configs(SEED, NUMBER, tmp_path).total() == NUMBER


def test_plans_of_sweeps(tmp_path: Path) -> None:
    assert fuzzing.fuzz_plans(SEED, NUMBER, tmp_path).total() == NUMBER


def test_data_files(tmp_path: Path) -> None:
    assert fuzzing.fuzz_data(SEED, NUMBER, tmp_path).total() == NUMBER


def test_command_lines_of_every_verb(tmp_path: Path) -> None:
    assert fuzzing.fuzz_arguments(SEED, NUMBER, tmp_path).total() == NUMBER
