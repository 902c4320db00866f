"""The examples in docstrings of `config` and `cli` do what they show."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from somelab.cli import overrides
from somelab.config import couplings, fields, files


@pytest.mark.parametrize("module", [couplings, fields, files, overrides])
def test_examples_in_docstrings(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
