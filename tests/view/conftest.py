"""The same run as in tests/analysis."""

from tests.analysis.conftest import cache, some_run

__all__ = ["cache", "some_run"]
