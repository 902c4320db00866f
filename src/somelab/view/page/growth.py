"""What a run has grown after training: the manifest growth/growth.json beside its checkpoints, whose digest
is verified. A run without it has grown nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from somelab.disk import guarded
from somelab.disk.checked_json import loads, unsealed
from somelab.runs import RunFolder
from somelab.view.page.results import exact
from somelab.view.schema.page import GrownGeneration

LARGEST = 1 << 22
"""Bytes. A generation takes about a kilobyte."""
MANIFEST = Path("growth") / "growth.json"
COUNTS = ("num_experts", "num_parameters", "num_bytes", "num_tokens")
LOSSES = ("new_before", "new_after", "old_before", "old_after")


def growth_of(run: RunFolder) -> tuple[list[GrownGeneration], str]:
    """The generations, oldest first, and what is wrong with the manifest; empty where nothing is."""
    try:
        text = guarded.read_bytes(run.path / MANIFEST, limit=LARGEST, inside=run.path)
        return [_generation(one) for one in unsealed(loads(text))["generations"]], ""
    except FileNotFoundError:
        return [], ""
    except (OSError, ValueError, KeyError, TypeError, guarded.GuardError) as error:
        return [], f"{MANIFEST} cannot be read ({type(error).__name__})"


def _generation(record: dict[str, Any]) -> GrownGeneration:
    losses = record.get("losses") or {}
    counts = {name: int(record.get(name, 0)) for name in COUNTS}
    measured = {name: exact(losses.get(name)) for name in LOSSES}
    return GrownGeneration.model_validate(
        {
            "name": str(record["name"]),
            "text": str(record.get("text", "")),
            "start_from": str(record.get("start_from", "")),
            **counts,
            **measured,
        }
    )
