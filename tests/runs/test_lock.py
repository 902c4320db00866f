"""Two processes must not train one run: the second is told so, and a lock ends with its holder."""

from __future__ import annotations

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
