"""A few hundred odd requests: the server answers each with success or one line. tests/hard has thousands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from tests.view.asgi import Application
from tests.view.fuzzing import SECRET, check, requests, served_runs


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, some_run: Path) -> Iterator[Application]:
    with served_runs(tmp_path_factory.mktemp("fuzzed"), some_run) as made:
        yield made


SEEN: Counter[int] = Counter()


@settings(max_examples=300)
@given(request=requests())
def test_odd_requests(served: Application, request: dict[str, Any]) -> None:
    assert SECRET.encode() not in check(served, request, SEEN).body


def test_the_requests_were_of_every_kind() -> None:
    """That the fuzzer reaches the endpoints behind the checks, and not the checks alone."""
    if not SEEN:
        pytest.skip("the requests were not made in this process")
    assert {200, 400, 403, 404, 405, 422} <= set(SEEN)
    assert SEEN[200] >= 20
