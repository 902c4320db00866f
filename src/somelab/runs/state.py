"""The state of a run at a checkpoint, without its tensors: `state.json`, and the names by which checkpoints
are found. Nothing here needs torch, and no file is opened through a link that leaves the run."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from somelab.disk import guarded
from somelab.disk.checked_json import loads, unsealed
from somelab.errors import SomelabError

STATE = "state.json"
LINKS = ("last", "best")
NAME = re.compile(r"step-\d{8,12}")


class CheckpointError(SomelabError):
    """A checkpoint that is missing, damaged or of another configuration."""


class DamagedCheckpoint(CheckpointError):
    """A checkpoint that is missing or damaged; another one may be sound."""


@dataclass
class RunState:
    """The state of a run, without its tensors."""

    step: int = 0
    tokens: int = 0
    """Counted tokens trained on."""
    seconds: float = 0.0
    best_val_loss: float | None = None
    best_step: int | None = None
    """The step that `best` names."""
    loader: dict[str, Any] | None = None
    journals: dict[str, int] | None = None
    """Length of each journal in bytes."""
    finished: bool = False
    """Whether the last evaluation has been made, so that the run is complete."""
    usage_with_padding: list[list[float]] | None = None
    """Of each layer's experts in training, where padding is in the loss."""

    def check(self) -> None:
        """Raise ValueError for values of other types or without sense."""
        is_count = _is_count(self.step) and _is_count(self.tokens)
        is_best = self.best_step is None or _is_count(self.best_step)
        numbers: list[Any] = [self.seconds, *([] if self.best_val_loss is None else [self.best_val_loss])]
        are_numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in numbers)
        journals: Any = {} if self.journals is None else self.journals
        are_lengths = isinstance(journals, dict) and all(_is_count(length) for length in journals.values())
        is_loader: bool = self.loader is None or isinstance(self.loader, dict)  # pyright: ignore
        is_flag: bool = isinstance(self.finished, bool)  # pyright: ignore
        usage: Any = self.usage_with_padding
        is_usage = usage is None or (isinstance(usage, list) and all(isinstance(row, list) for row in usage))
        if not (is_count and is_best and are_numbers and are_lengths and is_loader and is_flag and is_usage):
            raise ValueError("its values are not those of a run")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


@dataclass(frozen=True)
class Stored:
    """What a state.json holds."""

    folder: Path
    state: RunState
    pools: dict[str, dict[str, Any]]
    """Origin and digest of each frozen pool."""
    files: dict[str, str]
    """Digest of each file of tensors."""

    def content(self) -> dict[str, Any]:
        return {"state": asdict(self.state), "pools": self.pools, "files": self.files}


def name_of(step: int) -> str:
    """The name of a checkpoint's folder."""
    return f"step-{step:08d}"


def names(checkpoints: Path) -> list[str]:
    """The folders of checkpoints, newest first, sound or not."""
    try:
        found = [entry.name for entry in os.scandir(checkpoints) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted((name for name in found if NAME.fullmatch(name)), key=step_of, reverse=True)


def step_of(name: str) -> int:
    """The step of a checkpoint's folder."""
    return int(name.removeprefix("step-"))


def folder_of(checkpoints: Path, which: str) -> Path:
    """The folder of a checkpoint: `last`, `best`, `step-00000200` or 200. Paths are refused, and so are links
    that name anything but such a folder beside them."""
    name = name_of(int(which)) if re.fullmatch(r"\d{1,12}", which, re.ASCII) else which
    if name not in LINKS and not NAME.fullmatch(name):
        raise CheckpointError(
            f"--checkpoint {which}: is not the name of a checkpoint; give last, best, or a step such as "
            f"{(*names(checkpoints), name_of(200))[0]}"
        )
    path = checkpoints / name
    if name in LINKS and (target := _target(path)) is not None:
        if not NAME.fullmatch(target):
            raise DamagedCheckpoint(f"{path}: leads to {target} instead of a step beside it")
        path = checkpoints / target
    if path.is_symlink() or not path.is_dir():
        raise DamagedCheckpoint(f"{checkpoints / name}: there is no such checkpoint")
    return path


def _target(link: Path) -> str | None:
    """Where a link leads; None if it is none, or has just gone."""
    try:
        return os.readlink(link)
    except OSError:
        return None


def read(checkpoints: Path, which: str) -> Stored:
    """The state.json of a checkpoint, verified."""
    folder = folder_of(checkpoints, which)
    path = folder / STATE
    try:
        content = unsealed(loads(guarded.read_bytes(path, inside=checkpoints.parent)))
        known = {field.name for field in fields(RunState)}
        stored = Stored(
            folder, RunState(**_mapping(content, "state", known)), content["pools"], content["files"]
        )
        stored.state.check()
        if NAME.fullmatch(folder.name) and step_of(folder.name) != stored.state.step:
            raise ValueError(f"it is of step {stored.state.step}")
        if not all(isinstance(one, dict) for one in _mapping(content, "pools").values()):
            raise ValueError("its pools are not described")
        if not all(isinstance(one, str) for one in _mapping(content, "files").values()):
            raise ValueError("its files have no digests")
    except FileNotFoundError:
        raise DamagedCheckpoint(f"{path}: is missing") from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DamagedCheckpoint(f"{path}: is damaged ({' '.join(str(error).split())})") from None
    except guarded.GuardError as error:
        raise DamagedCheckpoint(str(error)) from None
    return stored


def _mapping(content: dict[str, Any], name: str, known: set[str] | None = None) -> dict[str, Any]:
    found = content.get(name)
    if not isinstance(found, dict) or (known is not None and not found.keys() <= known):
        raise ValueError(f"its {name} is not that of a run")
    return found


def newest(checkpoints: Path) -> Stored | None:
    """The state of `last`, or of the newest checkpoint whose state can be read if that of `last` cannot."""
    for which in ("last", *names(checkpoints)):
        try:
            return read(checkpoints, which)
        except CheckpointError:
            continue
    return None


def journal_length(checkpoints: Path, journal: str) -> int:
    """Bytes of a journal that are known to have been written, by the newest checkpoint."""
    stored = newest(checkpoints)
    return ((stored.state.journals or {}).get(journal, 0)) if stored is not None else 0
