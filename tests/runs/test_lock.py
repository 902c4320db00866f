"""Two processes must not train one run: the second is told so, and a lock ends with its holder."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from somelab.runs import RunError, RunFolder


def test_a_run_is_trained_by_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        RunFolder(tmp_path).locked(),
        pytest.raises(RunError, match="another process"),
        RunFolder(tmp_path).locked(),
    ):
        pass
    with RunFolder(tmp_path).locked():
        pass


def test_looking_at_a_lock_does_not_hold_it(tmp_path: Path) -> None:
    """A page looks twice a second; a run that begins at that moment must not be refused."""
    fcntl = pytest.importorskip("fcntl")
    with RunFolder(tmp_path).locked():
        assert RunFolder(tmp_path).is_locked
    assert not RunFolder(tmp_path).is_locked
    file = (tmp_path / ".lock").open("rb")
    fcntl.flock(file, fcntl.LOCK_SH)
    threading.Timer(0.03, file.close).start()
    with RunFolder(tmp_path).locked():
        assert RunFolder(tmp_path).is_locked
