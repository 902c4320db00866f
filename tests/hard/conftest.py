"""The same run as in tests/analysis, and a table of what was tried at the end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.analysis.conftest import some_run
from tests.hard.amounts import PROPERTY, SHARE, VARIABLE, Outcome, Tally

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

__all__ = ["some_run"]

Tell = Callable[[str, int, Outcome], None]


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Tell:
    """Puts a line into the table: what was tried, how often, and what came out."""

    def put(what: str, number: int, outcome: Outcome) -> None:
        record_property(PROPERTY, json.dumps([what, number, dict(outcome)]))

    return put


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    tally = Tally()
    reports: list[Any] = [
        report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, ())
    ]
    for report in reports:
        if getattr(report, "when", "") == "call":
            tally.read_(report.user_properties)
    if tally.rows:
        terminalreporter.section(f"what was tried ({VARIABLE}={SHARE:g})")
        for line in tally.lines():
            terminalreporter.write_line(line)
