"""What the tests of experiments share: one thread a process."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that wait for each other on a busy machine are many times slower than one."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
