"""Whether a run is in progress, finished, stopped, or no run at all. Read-only. Without locks (Windows) a run
in progress shows as stopped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from somelab.errors import SomelabError
from somelab.runs import RunFolder
from somelab.runs.folder import FORMAT
from somelab.view.page.files import facts_of
from somelab.view.schema.page import Status


class Foreign(SomelabError):
    """A folder that somelab has not written, or a version that this one does not read."""


def check_ours(run: RunFolder, *, inside: Path | None = None) -> dict[str, Any]:
    """run.json of a run that this version reads."""
    if not run.path.is_dir():
        raise Foreign(f"run {run.path}: there is no such folder")
    if not os.path.lexists(run.path / "run.json"):
        raise Foreign(
            f"run {run.path}: has no run.json and no results, so it is no run, sweep or continual study of "
            "somelab"
        )
    facts = facts_of(run, inside=inside)
    if facts.get("format") != FORMAT:
        raise Foreign(f"run {run.path}: has format {facts.get('format')!r}, this version reads {FORMAT}")
    return facts


def status_of(run: RunFolder, *, is_finished: bool) -> Status:
    """Of a folder that is a run, by its lock and its journal: `is_finished`, if that has the last evaluation,
    which is written before the checkpoint."""
    if run.is_locked:
        return "running"
    return "finished" if is_finished else "stopped"
