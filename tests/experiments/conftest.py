"""What the tests of experiments share: prepared data in a folder of the session, one small text, one thread a process."""

from __future__ import annotations

import pytest

from tests.train.conftest import cache, text

__all__ = ["cache", "text"]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that wait for each other on a busy machine are many times slower than one."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
