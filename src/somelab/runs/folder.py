"""The run folder: written by training, read by everything else, self-describing.

config.yaml        the resolved configuration       environment.json   versions, machine, command
run.json           name, preset, data, parameters   metrics.jsonl      losses, evaluations, warnings
tokenizer.json     the tokenizer                    layers.jsonl       per-layer measures, thinned
samples.jsonl      generated text over time         timing.jsonl       what depends on the clock
keys/              key snapshots                    checkpoints/       step-N/, and the links last and best

run.json also has a copy of the configuration and digests of the files that never change, and a digest of
itself: what was changed since is noticed when it is used. Runs of earlier versions lack these, and
are read without. No file is opened through a link that leaves the folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

from somelab.config import Config
from somelab.config.files import digest, from_yaml, to_yaml
from somelab.disk import atomic, guarded, locks
from somelab.disk.checked_json import DIGEST, loads, sealed, unsealed
from somelab.errors import ConfigError, SomelabError
from somelab.runs import journal
from somelab.runs.changes import Changes, changes, first_of
from somelab.runs.state import journal_length

FORMAT = 1
INTEGRITY = "integrity"
"""The key of run.json that holds what the other files are verified by."""
LOCK = ".lock"
# What `create` writes before run.json, the two folders first.
BEFORE_THE_RUN = {"checkpoints", "keys", "config.yaml", "environment.json", "tokenizer.json"}


class RunError(SomelabError):
    """A folder that is not a run, or not one that can be read."""


class BusyRun(RunError):
    """A run that another process is training."""


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
        files = {"environment.json": _json(environment), run.tokenizer.name: tokenizer}
        atomic.write_text(run.path / "config.yaml", to_yaml(config))
        for name, content in files.items():
            atomic.write_text(run.path / name, content)
        integrity = {
            "config": config.model_dump(mode="json"),
            "files": {name: _digest(content.encode()) for name, content in files.items()},
            "journals": "with sums",
        }
        # Last, because its presence makes the folder a run.
        run._write_facts(facts, integrity)
        return run

    def _write_facts(self, facts: dict[str, Any], integrity: dict[str, Any]) -> None:
        # What is verified and what verifies it are not neighbours: no single cut takes both.
        content = sealed({"format": FORMAT, **facts, INTEGRITY: integrity})
        first = {"format": FORMAT, DIGEST: content[DIGEST]}
        atomic.write_text(self.path / "run.json", _json({**first, **content}))

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
        # A new run makes its folders in this order, before any file.
        begun = inside == {"checkpoints"} or {"checkpoints", "keys"} <= inside <= BEFORE_THE_RUN
        folders = [self.path / name for name in ("checkpoints", "keys") if name in inside]
        unborn = begun and all(folder.is_dir() and not any(folder.iterdir()) for folder in folders)
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
        for folder in (self.checkpoints, self.keys):
            self.check_folder(folder)
        with atomic.explained(self.path), contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locks.exclusive(self.path / LOCK, inside=self.path))
            except locks.Held:
                raise BusyRun(
                    f"run {self.path}: is being trained by another process; wait for it, or stop it"
                ) from None
            yield

    @property
    def is_locked(self) -> bool:
        """Whether some process trains the run now; never known without locks (Windows)."""
        return locks.is_held(self.path / LOCK, inside=self.path)

    def check_folder(self, folder: Path) -> None:
        """Raise if a folder of this run is a link to another place: nothing is written or removed there."""
        guarded.resolved(folder, inside=self.path)

    def facts(self) -> dict[str, Any]:
        """run.json, without what verifies the other files."""
        return {name: value for name, value in self._read_facts().items() if name != INTEGRITY}

    def write_facts(self, facts: dict[str, Any]) -> None:
        """Replace what run.json says about the run."""
        rest = {name: value for name, value in facts.items() if name != "format"}
        self._write_facts(rest, self._integrity())

    def _read_facts(self) -> dict[str, Any]:
        try:
            content = loads(guarded.read_bytes(self.path / "run.json", inside=self.path))
            if isinstance(content, dict) and (DIGEST in content or INTEGRITY in content):
                content = unsealed(content)
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

    def _integrity(self) -> dict[str, Any]:
        found = self._read_facts().get(INTEGRITY, {})
        if not isinstance(found, dict):
            raise RunError(f"run {self.path}: run.json cannot be read ({INTEGRITY} holds no object)")
        return found

    def read_text(self, name: str, *, limit: int = guarded.LARGEST_TEXT) -> str:
        """A text file of the run of at most `limit` bytes, verified if its digest was recorded."""
        path = self.path / name
        files = self._integrity().get("files")
        recorded = files.get(name) if isinstance(files, dict) else None
        try:
            content = guarded.read_bytes(path, limit=limit, inside=self.path)
            text = content.decode()
        except FileNotFoundError:
            raise RunError(f"{path}: is missing; restore the file") from None
        except (OSError, ValueError) as error:
            raise RunError(f"{path}: cannot be read ({error}); restore the file") from None
        if recorded not in (None, _digest(content)):
            raise RunError(f"{path}: is damaged (its digest differs); restore the file")
        return text

    def read_json(self, name: str, *, limit: int = guarded.LARGEST_TEXT) -> dict[str, Any]:
        """A JSON object of the run, verified by its digest in run.json, or by its own, if it has one."""
        try:
            content = loads(self.read_text(name, limit=limit))
            if isinstance(content, dict) and DIGEST in content:
                content = unsealed(content)
        except ValueError as error:
            raise RunError(f"{self.path / name}: is damaged ({error}); restore the file") from None
        if not isinstance(content, dict):
            raise RunError(f"{self.path / name}: holds no object; restore the file")
        return content

    def check_data(self, digest: str) -> None:
        """Raise for data that differ from those of the run."""
        data: Any = self.facts().get("data")
        if not isinstance(data, dict) or data.get("digest") != digest:
            raise RunError(
                f"run {self.path}: its data have changed since it began; restore them, or train anew"
            )

    def config(self) -> Config:
        """The configuration, if it is the one that the run was trained with so far."""
        config = self.config_as_it_is()
        if found := self.config_changes(config):
            raise RunError(
                f"run {self.path}: config.yaml was changed since training began ({first_of(found)}); restore "
                f"it, or continue with the change: `somelab resume {self.path} --accept-config`"
            )
        return config

    def config_as_it_is(self) -> Config:
        """The configuration in config.yaml, changed or not."""
        path = self.path / "config.yaml"
        try:
            with contextlib.suppress(OSError):  # a missing file is reported below
                guarded.read_bytes(path, inside=self.path)
            return from_yaml(path)
        except RecursionError:
            raise ConfigError("config file", str(path), "is nested too deeply", "restore the file") from None

    def config_changes(self, config: Config) -> Changes:
        """What differs between a configuration and that of the run, each with the value before."""
        return changes(self._integrity().get("config"), config, self.path)

    def accept_config_(self, config: Config, step: int) -> None:
        """Make a changed configuration that of the run, and record from which step on."""
        if not (found := self.config_changes(config)):
            return
        facts, integrity = self.facts(), self._integrity()
        accepted = {"step": step, "changes": {name: list(values) for name, values in found.items()}}
        facts["config_changes"] = [*facts.get("config_changes", []), accepted]
        facts["config_digest"] = digest(config)
        facts.pop("format")
        self._write_facts(facts, {**integrity, "config": config.model_dump(mode="json")})

    @property
    def has_sums(self) -> bool | None:
        """Whether the lines of the journals have sums; None: as their first lines have it."""
        is_run = os.path.lexists(self.path / "run.json")
        return True if is_run and "journals" in self._integrity() else None

    def journal(self, name: str) -> journal.Journal:
        return journal.Journal(self.path / f"{name}.jsonl", has_sums=self.has_sums)

    def records(self, name: str) -> list[dict[str, Any]]:
        """All records of a journal: metrics, layers, samples or timing. Raises if records are missing that a
        checkpoint knows of."""
        written, tries = journal_length(self.checkpoints, name), 3
        while True:
            try:
                path = self.path / f"{name}.jsonl"
                return list(journal.read(path, has_sums=self.has_sums, at_least=written))
            except journal.JournalError as error:
                # A resumed run may just have gone back to an earlier checkpoint.
                now, tries = journal_length(self.checkpoints, name), tries - 1
                went_back = isinstance(error, journal.ShortJournal) and now < written
                if not (went_back or (tries and self.is_locked)):
                    raise
                written = min(now, written)


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
