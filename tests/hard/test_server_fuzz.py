"""Thousands of odd requests. SOMELAB_FUZZ_SEED chooses other ones, SOMELAB_FUZZ_COUNT how many."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.view.fuzzing import SECRET, check, requests, served_runs

pytestmark = pytest.mark.hard
SEED = int(os.environ.get("SOMELAB_FUZZ_SEED", "0"))
COUNT = int(os.environ.get("SOMELAB_FUZZ_COUNT", "5000"))


def test_thousands_of_odd_requests(tmp_path: Path, some_run: Path) -> None:
    seen: Counter[int] = Counter()
    with served_runs(tmp_path, some_run) as served:

        @seed(SEED)
        @settings(
            max_examples=COUNT, derandomize=False, database=None, deadline=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(request=requests())
        def ask(request: dict[str, Any]) -> None:
            assert SECRET.encode() not in check(served, request, seen).body

        ask()
    print(f"{seen.total()} requests from seed {SEED}: {dict(sorted(seen.items()))}")
    assert seen.total() >= COUNT
    assert {200, 400, 403, 404, 405, 422} <= set(seen)
