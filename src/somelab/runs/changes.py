"""What was changed in the configuration of a run since it began: by comparing it with the copy in
run.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from somelab.config import Config
from somelab.config.fields import fields, value_of
from somelab.config.files import parse
from somelab.errors import SomelabError

Changes = dict[str, tuple[Any, Any]]
"""Dotted names of settings, with the value before and the value now."""


def changes(recorded: Any, config: Config, run: Path) -> Changes:
    """The settings that differ. `recorded`: the copy; None: a run of an earlier version, which has none."""
    if recorded is None:
        return {}
    try:
        # Settings that are newer than the run take their defaults in both.
        before = parse(recorded)
    except (SomelabError, RecursionError) as error:
        raise SomelabError(
            f"run {run}: its configuration in run.json cannot be read ({error}); restore the file"
        ) from None
    old, new = before.model_dump(mode="json"), config.model_dump(mode="json")
    if old == new:
        return {}
    names = [name for name in fields() if value_of(before, name) != value_of(config, name)]
    return {name: (_plain(old, name), _plain(new, name)) for name in names}


def first_of(found: Changes) -> str:
    """The first change in words, for a message."""
    name, (before, now) = next(iter(found.items()))
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{name} was {before!r} and is {now!r}{more}"


def _plain(tree: dict[str, Any], name: str) -> Any:
    group, _, key = name.partition(".")
    return tree[group][key]
