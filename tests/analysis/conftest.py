"""One trained run for the whole session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.builders import train_run


@pytest.fixture(scope="session")
def some_run(tmp_path_factory: pytest.TempPathFactory, cache: None) -> Path:
    """A SoME run on built-in stories: 3 layers of 8 experts, 2 per token, 7 snapshots. Do not change it; copy
    it."""
    return train_run(tmp_path_factory.mktemp("runs") / "stories")
