"""One small run, and a text of another kind, for all tests of adaptation."""

from __future__ import annotations

from pathlib import Path

import pytest

from somelab.cli.main import main
from tests.training.builders import SMALL, flags_of, write_text


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of forty steps, with keys that route by more than one direction."""
    folder = tmp_path_factory.mktemp("adapt")
    text = write_text(folder / "short.txt")
    settings = {
        **SMALL,
        "train.steps": 40,
        "train.learning_rate": 0.005,
        "train.eval_every": 20,
        "router.temperature": 0.3,
        "gravity.alpha": 0.015,
        "gravity.beta": 0.001,
        "gravity.warmup_steps": 100,
        "data.layout": "pack",
    }
    assert main(["train", "v7", "--data", str(text), "--out", str(folder / "run"), *flags_of(settings)]) == 0
    return folder / "run"


@pytest.fixture(scope="session")
def other_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text of another kind than the run's."""
    path = tmp_path_factory.mktemp("other") / "other.txt"
    lines = [f"{n} plus {n * 7 % 13} makes {n + n * 7 % 13} and not {n * 3 % 17}." for n in range(280)]
    path.write_text("\n<|endoftext|>\n".join(lines) + "\n", encoding="utf-8")
    return path
