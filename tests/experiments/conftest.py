"""What the tests of experiments share: one thread a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Two threads that wait for each other on a busy machine are many times slower than one.

    Of a module, so that a run which its tests share has one thread, too: another number of threads rounds
    otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield
