"""What the tests of the core share: where a test is about the engine `native`, the compiled kernels are
there."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _kernels_where_named(request: pytest.FixtureRequest) -> None:
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and callspec.params.get("name") == "native":
        request.getfixturevalue("native_kernels")
