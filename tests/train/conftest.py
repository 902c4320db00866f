"""What the tests of training share: prepared data in a folder of the session, and one small text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.train.builders import write_text


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Prepared data go to a folder of this session, and never to the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOMELAB_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("text") / "short.txt")
