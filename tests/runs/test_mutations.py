"""A finished run whose files are damaged at random is refused in a line, or read as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.mutations import Subject, mutate
from tests.training.builders import SMALL, config_of


def subject_of(text: Path, folder: Path) -> Subject:
    """A tiny finished run with a data cache of its own."""
    from somelab.training.session import start

    settings = {
        **SMALL,
        "model.d_model": 16,
        "experts.d_ffn": 16,
        "train.eval_every": 4,
        "train.snapshot_every": 4,
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOMELAB_CACHE", str(folder / "cache"))
        start(config_of(text, settings), folder / "run", {"name": "run"})
    (prepared,) = (path for path in (folder / "cache" / "prepared").iterdir() if path.is_dir())
    return Subject(folder / "run", prepared)


def test_damage_is_told_or_does_no_harm(text: Path, tmp_path: Path) -> None:
    outcomes = mutate(subject_of(text, tmp_path), num_trials=250, seed=0)
    assert outcomes["refused"] > 150, outcomes
    assert outcomes["equal"] > 5, "comments, white space, torn ends"
    assert outcomes.total() == 250
