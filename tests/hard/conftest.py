"""The same run as in tests/analysis."""

from tests.analysis.conftest import some_run

__all__ = ["some_run"]
