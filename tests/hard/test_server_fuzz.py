"""Thousands of odd requests: each is answered by success or a refusal in one line, and soon."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.hard.amounts import SEED, amount
from tests.hard.conftest import Tell
from tests.view.fuzzing import SECRET, check, requests, served_runs

pytestmark = pytest.mark.hard
COUNT = 5000


def test_thousands_of_odd_requests(tmp_path: Path, some_run: Path, tell: Tell) -> None:
    seen: Counter[int] = Counter()
    count = amount(COUNT, least=200)
    with served_runs(tmp_path, some_run) as served:

        @seed(SEED)
        @settings(
            max_examples=count, derandomize=False, database=None, deadline=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(request=requests())
        def ask(request: dict[str, Any]) -> None:
            assert SECRET.encode() not in check(served, request, seen).body

        ask()
    assert seen.total() >= count
    assert {200, 400, 403, 404, 405, 422} <= set(seen)
    answers = {f"of status {status}": number for status, number in sorted(seen.items())}
    tell("odd requests to the server", seen.total(), {**answers, "of status 5xx": 0})
