"""`import somelab`: light, lazy, and all names that the package offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import somelab


def test_the_import_is_light() -> None:
    code = (
        "import sys, somelab; print([name for name in ('torch', 'pydantic', 'numpy', 'yaml') if name in "
        "sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_name_is_there_and_is_not_a_module() -> None:
    assert set(somelab.__all__) <= set(dir(somelab))
    for name in somelab.__all__:
        found = getattr(somelab, name)
        assert callable(found), name
        assert found.__name__ == name
        assert found.__doc__, name


def test_a_name_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'SomeLayers'; it offers .*SomeLayer.*train"):
        somelab.SomeLayers  # type: ignore[attr-defined]  # noqa: B018
