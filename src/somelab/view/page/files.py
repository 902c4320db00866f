"""The small files of a run folder, read with care: regular files only, of bounded size, never through a link
that leaves the folder that is served. A folder may be anyone's, and one bad file must not stop the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from somelab.config import Config
from somelab.disk import guarded
from somelab.errors import SomelabError
from somelab.runs import RunFolder

LARGEST_SETTINGS = 1 << 20
"""Bytes of config.yaml, run.json and environment.json. Training writes some kilobytes; parsed, a file of this
size takes tens of megabytes."""


class FileError(SomelabError):
    """A file of a run that cannot be read."""


def json_object(path: Path, *, inside: Path | None = None) -> dict[str, Any]:
    """A small file that holds one object. Its faults are left to the caller."""
    content = json.loads(guarded.read_text(path, limit=LARGEST_SETTINGS, inside=inside))
    if not isinstance(content, dict):
        raise ValueError("holds no object")
    return content


def environment_of(run: RunFolder) -> dict[str, Any]:
    """environment.json, verified by its digest in run.json. Its faults are left to the caller."""
    return run.read_json("environment.json", limit=LARGEST_SETTINGS)


def facts_of(run: RunFolder, *, inside: Path | None = None) -> dict[str, Any]:
    """run.json."""
    try:
        return json_object(run.path / "run.json", inside=inside)
    except guarded.GuardError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise FileError(
            f"run {run.path}: run.json cannot be read ({reason}); restore the file or train again"
        ) from None


def config_of(run: RunFolder, *, inside: Path | None = None) -> Config:
    """config.yaml, which is checked before its own reader opens it: opening a FIFO would wait for ever, and a
    few lines of aliases of aliases can stand for more than any memory holds."""
    path = run.path / "config.yaml"
    if path.exists():
        content = guarded.read_bytes(path, limit=LARGEST_SETTINGS, inside=inside)
        if b"*" in content and _has_alias(content):
            raise FileError(f"{path}: holds a YAML alias, which training never writes; restore the file")
    return run.config()


def _has_alias(content: bytes) -> bool:
    try:
        return any(isinstance(token, yaml.AliasToken) for token in yaml.scan(content))
    except (yaml.YAMLError, ValueError):
        return False  # no YAML: its own reader tells what is wrong
