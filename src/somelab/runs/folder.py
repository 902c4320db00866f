"""The run folder: what training writes and everything else reads. It explains itself.

config.yaml        the resolved configuration       environment.json   versions, machine, command
run.json           name, preset, data, parameters   metrics.jsonl      the truth: losses, evaluations, warnings
tokenizer.json     the tokenizer                    layers.jsonl       per-layer measures, at most some hundred records
samples.jsonl      generated text over time         timing.jsonl       what depends on the clock
keys/              key snapshots                    checkpoints/       step-N/, and the links last and best
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from somelab.config import Config
from somelab.config.files import from_yaml, to_yaml
from somelab.errors import SomelabError
from somelab.runs import atomic, journal

FORMAT = 1


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
    def create(cls, path: Path | str, config: Config, facts: dict[str, Any], environment: dict[str, Any]) -> RunFolder:
        """Begin a run in a new or empty folder."""
        run = cls(path)
        if run.path.exists() and (not run.path.is_dir() or any(run.path.iterdir())):
            raise RunError(f"--out {run.path}: is not empty; choose another folder, or `somelab resume {run.path}`")
        with atomic.explained(run.path):
            for folder in (run.path, run.checkpoints, run.keys):
                folder.mkdir(parents=True, exist_ok=True)
        atomic.write_text(run.path / "config.yaml", to_yaml(config))
        atomic.write_text(run.path / "environment.json", _json(environment))
        # Last, because its presence makes the folder a run.
        atomic.write_text(run.path / "run.json", _json({"format": FORMAT, **facts}))
        return run

    @classmethod
    def open(cls, path: Path | str) -> RunFolder:
        """An existing run, checked to be one."""
        run = cls(path)
        if not run.path.exists():
            raise RunError(f"run {run.path}: there is no such folder; `somelab train` makes one")
        facts = run.facts()
        if facts.get("format") != FORMAT:
            raise RunError(
                f"run {run.path}: has format {facts.get('format')!r}, this version reads {FORMAT}; use the version that wrote it"
            )
        return run

    def facts(self) -> dict[str, Any]:
        """run.json."""
        try:
            content = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunError(f"run {self.path}: has no run.json; name the folder that `somelab train --out` wrote") from None
        except (OSError, ValueError) as error:
            raise RunError(f"run {self.path}: run.json cannot be read ({error}); restore the file or train again") from None
        if not isinstance(content, dict):
            raise RunError(f"run {self.path}: run.json holds no object; restore the file or train again")
        return content

    def config(self) -> Config:
        return from_yaml(self.path / "config.yaml")

    def journal(self, name: str) -> journal.Journal:
        return journal.Journal(self.path / f"{name}.jsonl")

    def records(self, name: str) -> list[dict[str, Any]]:
        """All records of a journal: metrics, layers, samples or timing."""
        return list(journal.read(self.path / f"{name}.jsonl"))


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
