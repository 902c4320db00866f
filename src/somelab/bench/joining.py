"""One report from benchmarks that were run one by one, as where a machine is quiet for minutes only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from somelab.bench.results import Result, Row
from somelab.bench.surroundings import warning
from somelab.errors import ConfigError


def joined(paths: Sequence[Path]) -> tuple[dict[str, Any], list[Result]]:
    """The record of all runs and their results, in the order of the files. Each file is what
    `somelab bench NAME --json` printed."""
    records = [_read(path) for path in paths]
    results = [_result(record) for record in records]
    names = [result.bench for result in results]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError("join", twice[0], "was measured twice", "give one file for each benchmark")
    for name in ("machine", "somelab", "dtype"):
        if any(record[name] != records[0][name] for record in records):
            raise ConfigError("join", name, "differs between the files", "measure all on one machine")
    together = {
        **{name: records[0][name] for name in ("somelab", "machine", "dtype")},
        "command": "`, `".join(record["command"] for record in records),
        "date": max(record["date"] for record in records),
        "comparable": all(record["comparable"] for record in records),
        "load": _load([record["load"] for record in records], records[0]["machine"]["cores"]),
    }
    return together, results


def _read(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return record if {"bench", "rows", "load", "machine", "comparable"} <= record.keys() else _no(path)
    except (OSError, ValueError, AttributeError):
        return _no(path)


def _no(path: Path) -> dict[str, Any]:
    remedy = "give what `somelab bench NAME --json` printed"
    raise ConfigError("join", str(path), "is not the result of a benchmark", remedy)


def _result(record: dict[str, Any]) -> Result:
    fields = ("bench", "title", "settings", "ratios", "figures", "notes")
    return Result(**{name: record[name] for name in fields}, rows=[Row(**row) for row in record["rows"]])


def _load(loads: Sequence[dict[str, Any]], num_cores: int) -> dict[str, Any]:
    """Of all runs together: seconds add up, the cores of others are averaged over them."""
    seconds = sum(load["seconds"] for load in loads)
    known = all(load["other_cores"] is not None for load in loads)
    others = sum(load["other_cores"] * load["seconds"] for load in loads) / seconds if known else None
    together = {"before": loads[0]["before"], "after": loads[-1]["after"], "other_cores": others}
    return {**together, "seconds": seconds, "warning": warning(together, num_cores)}
