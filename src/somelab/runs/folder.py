"""The run folder: written by training, read by everything else, self-describing.

config.yaml        the resolved configuration       environment.json   versions, machine, command
run.json           name, preset, data, parameters   metrics.jsonl      losses, evaluations, warnings
tokenizer.json     the tokenizer                    layers.jsonl       per-layer measures, thinned
samples.jsonl      generated text over time         timing.jsonl       what depends on the clock
keys/              key snapshots                    checkpoints/       step-N/, and the links last and best
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

from somelab.config import Config
from somelab.config.files import from_yaml, to_yaml
from somelab.disk import atomic
from somelab.errors import SomelabError
from somelab.runs import journal

FORMAT = 1
# What `create` writes before run.json, the two folders first.
BEFORE_THE_RUN = {"checkpoints", "keys", "config.yaml", "environment.json", "tokenizer.json"}


class RunError(SomelabError):
    """A folder that is not a run, or not one that can be read."""


class RunFolder:
    """Paths and pieces of one run."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def keys(self) -> Path:
        return self.path / "keys"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer.json"

    @classmethod
    def create(
        cls,
        path: Path | str,
        config: Config,
        facts: dict[str, Any],
        environment: dict[str, Any],
        tokenizer: str,
    ) -> RunFolder:
        """Begin a run in a new or empty folder."""
        run = cls(path)
        run.check_free()
        with atomic.explained(run.path):
            for folder in (run.path, run.checkpoints, run.keys):
                folder.mkdir(parents=True, exist_ok=True)
        atomic.clear_leftovers(run.path)
        atomic.write_text(run.path / "config.yaml", to_yaml(config))
        atomic.write_text(run.path / "environment.json", _json(environment))
        atomic.write_text(run.tokenizer, tokenizer)
        # Last, because its presence makes the folder a run.
        atomic.write_text(run.path / "run.json", _json({"format": FORMAT, **facts}))
        return run

    def check_free(self) -> None:
        """Raise for a folder that is not empty, unless it was left by a run that was killed before its first
        step."""
        if not os.path.lexists(self.path):
            return
        if not self.path.is_dir():
            raise RunError(f"--out {self.path}: is not a folder; choose another")
        with atomic.explained(self.path):
            inside = {file.name for file in self.path.iterdir() if not file.name.startswith(atomic.TEMPORARY)}
        if "run.json" in inside:
            raise RunError(
                f"--out {self.path}: is a run; continue it with `somelab resume {self.path}`, or choose "
                "another folder"
            )
        unborn = {"checkpoints", "keys"} <= inside <= BEFORE_THE_RUN and not [
            *self.checkpoints.iterdir(),
            *self.keys.iterdir(),
        ]
        if inside and not unborn:
            raise RunError(f"--out {self.path}: is not empty; choose another folder")

    @classmethod
    def open(cls, path: Path | str) -> RunFolder:
        """An existing run, checked."""
        run = cls(path)
        if not run.path.exists():
            raise RunError(f"run {run.path}: there is no such folder; `somelab train` makes one")
        if not run.path.is_dir():
            raise RunError(f"run {run.path}: is not a folder; name the one that `somelab train` wrote")
        facts = run.facts()
        if facts.get("format") != FORMAT:
            raise RunError(
                f"run {run.path}: has format {facts.get('format')!r}, this version reads {FORMAT}; use the "
                "version that wrote it"
            )
        return run

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """An exclusive lock for training this run; it ends with the process. Without locks (Windows) there is
        none."""
        if sys.platform == "win32":
            yield
            return
        import fcntl

        with atomic.explained(self.path), (self.path / ".lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunError(
                    f"run {self.path}: is being trained by another process; wait for it, or stop it"
                ) from None
            yield

    def facts(self) -> dict[str, Any]:
        """run.json."""
        try:
            content = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(
                f"run {self.path}: has no run.json; name a folder that `somelab train` wrote"
            ) from None
        except (OSError, ValueError) as error:
            raise RunError(
                f"run {self.path}: run.json cannot be read ({error}); restore the file or train again"
            ) from None
        if not isinstance(content, dict):
            raise RunError(f"run {self.path}: run.json holds no object; restore the file or train again")
        return content

    def check_data(self, digest: str) -> None:
        """Raise for data that differ from those of the run."""
        data: Any = self.facts().get("data")
        if not isinstance(data, dict) or data.get("digest") != digest:
            raise RunError(
                f"run {self.path}: its data have changed since it began; restore them, or train anew"
            )

    def config(self) -> Config:
        return from_yaml(self.path / "config.yaml")

    def journal(self, name: str) -> journal.Journal:
        return journal.Journal(self.path / f"{name}.jsonl")

    def records(self, name: str) -> list[dict[str, Any]]:
        """All records of a journal: metrics, layers, samples or timing."""
        return list(journal.read(self.path / f"{name}.jsonl"))


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
