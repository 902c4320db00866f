"""Which folders hold results over several runs, and how they are read. Recognised by their files, not by
name: table.json (plan.json until it ends) says whether they are those of a sweep or of a study of continual
learning, which has a summary.json beside it. Studies of earlier versions have summary.json and study.json."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from somelab.disk import guarded
from somelab.disk.old_names import with_new_names
from somelab.errors import SomelabError
from somelab.view.page.packing import number
from somelab.view.schema.parts import Interval, Number
from somelab.view.schema.results import Band

Kind = Literal["sweep", "continual"]
MOST_BYTES = 16_000_000
"""Of a file that is read whole; a table has some hundred kilobytes. Parsed it takes ten times as much."""
# The fields by which each file is recognised: other programs may use such names.
FILES: tuple[tuple[str, Kind, tuple[str, ...]], ...] = (
    ("table.json", "sweep", ("plan", "arms")),
    ("plan.json", "sweep", ("name", "arms", "seeds")),
    ("summary.json", "continual", ("kind", "experiences", "learners")),
    ("study.json", "continual", ("stream", "tokens", "eval_tokens")),
)

IS_STUDY = "kind: continual"
"""Stands among the fields of a table or plan that is a study's."""


def kind_of(folder: Path) -> Kind | None:
    """What kind of results a folder holds; None for a run, and for everything else."""
    if os.path.lexists(folder / "run.json"):
        return None
    for name, kind, fields in FILES:
        found = _fields(folder / name)
        if found is not None and found >= set(fields):
            return "continual" if IS_STUDY in found else kind
    return None


def read_json(path: Path) -> dict[str, Any]:
    """A file that holds one object, or a one-line error."""
    try:
        content = json.loads(with_new_names(guarded.read_text(path, limit=MOST_BYTES, inside=path.parent)))
    except (OSError, ValueError, RecursionError) as error:
        raise SomelabError(f"{path}: cannot be read ({type(error).__name__})") from None
    if not isinstance(content, dict):
        raise SomelabError(f"{path}: holds no object")
    return content


def changed_at(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written again; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _fields(path: Path) -> frozenset[str] | None:
    """The names in a file's object, if there is one; cached until the file changes."""
    changed = changed_at(path)
    return None if changed is None else _read_fields(path, changed)


@lru_cache(maxsize=1024)
def _read_fields(path: Path, changed: tuple[int, int]) -> frozenset[str]:
    try:
        # No file of results has more fields than this; the names of a crafted one are not kept.
        content = read_json(path)
        names = frozenset(name for name in islice(content, 100) if len(name) <= 100)
        return names | {IS_STUDY} if content.get("kind") == "continual" else names
    except SomelabError:
        return frozenset()


def exact(value: Any) -> Number:
    """A finite number with all its digits: a table shows the file's values."""
    return float(value) if number(value) is not None else None


def interval_of(record: dict[str, Any], values: Sequence[Any]) -> Interval:
    """An interval of a file, with the values that it is of."""
    mean, low, high = (exact(record[name]) for name in ("mean", "low", "high"))
    return Interval(mean=mean, low=low, high=high, num=len(values), values=[exact(value) for value in values])


def band_of(tokens: Sequence[float], seeds: Sequence[Sequence[Number]]) -> Band:
    """Mean, least and most over seeds at each place; what is not finite does not count, and a place without
    any is a gap."""
    columns = [[value for value in column if value is not None] for column in zip(*seeds, strict=True)]
    return Band(
        tokens=list(tokens),
        mean=[number(math.fsum(column) / len(column)) if column else None for column in columns],
        low=[min(column, default=None) for column in columns],
        high=[max(column, default=None) for column in columns],
    )
