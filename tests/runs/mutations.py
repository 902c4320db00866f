"""Seeded damage to every file of a run folder and of its prepared data, and what reading them again gives: an
error of ours in one line, or the content as it was. Anything else is a fault."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from somelab.analysis.snapshots import read_history
from somelab.config import Config
from somelab.data.prepare import open_prepared
from somelab.errors import SomelabError
from somelab.model import Decoder
from somelab.runs import RunFolder, checkpoint
from somelab.runs.trained import load_trained
from somelab.training.loop import JOURNALS
from somelab.training.optimizer import build_optimizer

EVERY_WHOLE = 19
"""Every so many trials all is read, and the model made from the configuration, as `somelab eval` does. No
divisor of the number of files, so that each of them has its turn."""


def _place(rng: random.Random, content: bytes) -> tuple[int, int]:
    """A stretch of up to 64 bytes."""
    start = rng.randrange(len(content))
    return start, min(len(content), start + rng.randint(1, 64))


def flip(rng: random.Random, content: bytes) -> bytes:
    place, bit = rng.randrange(len(content)), 1 << rng.randrange(8)
    return content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :]


def delete(rng: random.Random, content: bytes) -> bytes:
    start, end = _place(rng, content)
    return content[:start] + content[end:]


def truncate(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))]


def duplicate(rng: random.Random, content: bytes) -> bytes:
    start, end = _place(rng, content)
    return content[:end] + content[start:]


def swap(rng: random.Random, content: bytes) -> bytes:
    first, second = sorted(rng.randrange(len(content)) for _ in range(2))
    changed = bytearray(content)
    changed[first], changed[second] = changed[second], changed[first]
    return bytes(changed)


def zero(rng: random.Random, content: bytes) -> bytes:
    start, end = _place(rng, content)
    return content[:start] + bytes(end - start) + content[end:]


def insert(rng: random.Random, content: bytes) -> bytes:
    place = rng.randint(0, len(content))
    return content[:place] + rng.randbytes(rng.randint(1, 8)) + content[place:]


def delete_line(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def duplicate_line(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    return b"".join([*lines[:place], lines[place], *lines[place:]])


def swap_lines(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


def cut_at_line(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    return b"".join(lines[: rng.randrange(len(lines))])


MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    flip,
    flip,
    delete,
    truncate,
    duplicate,
    swap,
    zero,
    insert,
    delete_line,
    duplicate_line,
    swap_lines,
    cut_at_line,
)


class Subject:
    """A run with its prepared data, and everything that can be read from them."""

    def __init__(self, run: Path, prepared: Path) -> None:
        self.run, self.prepared = RunFolder(run), prepared
        self.config: Config = self.run.config()
        self.model = Decoder(self.config)
        self.optimizer = build_optimizer(self.model, self.config.train)
        self.names = sorted(path.name for path in self.run.checkpoints.glob("step-*"))
        folders = [path for path in run.rglob("*") if path.is_file() and path.name != ".lock"]
        links = {run / "checkpoints" / link for link in ("last", "best")}
        self.files = sorted(path for path in folders if not links & {path, *path.parents})
        self.files += sorted(path for path in prepared.iterdir() if path.is_file())
        self.parts: dict[str, Callable[[], Any]] = {
            "facts": lambda: RunFolder.open(run).facts(),
            "config": lambda: self.run.config().model_dump(mode="json"),
            "environment": lambda: self.run.read_json("environment.json"),
            "tokenizer": lambda: self.run.read_text("tokenizer.json"),
            "snapshots": self._snapshots,
            "data": self._data,
            **{name: lambda name=name: self.run.records(name) for name in JOURNALS},
            **{name: lambda name=name: self._checkpoint(name) for name in self.names},
        }
        self.sound = {name: _text(part()) for name, part in self.parts.items()}
        self.loaded = self._loaded()

    def _snapshots(self) -> list[str]:
        history = read_history(self.run)
        arrays = [(one.keys_FED, one.usage_FE, one.mass_FE, one.born_FE) for one in history]
        return [str(history[0].steps), *(_digest(array) for layer in arrays for array in layer)]

    def _data(self) -> list[Any]:
        data = open_prepared(self.prepared)
        splits = [
            (_digest(one.tokens), _digest(one.offsets), one.num_bytes) for one in (data.train, data.val)
        ]
        return [data.digest, data.tokenizer.digest, splits]

    def _checkpoint(self, which: str) -> list[Any]:
        state = checkpoint.load(self.run, self.model, self.optimizer, which=which)
        moments = checkpoint._optimizer_tensors(self.model, self.optimizer)
        tensors = {**checkpoint.stored_tensors(self.model), **moments}
        return [asdict(state), {name: _digest(one.detach().numpy()) for name, one in tensors.items()}]

    def _loaded(self) -> str:
        """As `somelab eval` and `generate` load the last checkpoint."""
        trained = load_trained(RunFolder.open(self.run.path))
        weights = {name: _digest(one.numpy()) for name, one in trained.model.state_dict().items()}
        return _text([weights, trained.tokenizer.digest, asdict(trained.state)])

    def _concerned(self, damaged: Path) -> list[str]:
        """The parts that a file may matter to. Those of other files take most of the time."""
        if damaged.is_relative_to(self.prepared):
            return ["data"]
        if damaged.is_relative_to(self.run.checkpoints):
            return [*self.names, *JOURNALS]
        return [name for name in self.parts if name not in ("data", *self.names)]

    def outcome(self, damaged: Path, *, whole: bool) -> str:
        """Reads what the file may matter to, or the whole: refused, equal, or replaced (by another
        checkpoint, with a notice)."""
        refused = False
        for name in self.parts if whole else self._concerned(damaged):
            part = self.parts[name]
            try:
                found = _text(part())
            except SomelabError as error:
                refused = is_one_line(error)
            else:
                assert found == self.sound[name], f"{name}: another content was read without a word"
        return self._load_outcome(refused=refused) if whole else "refused" if refused else "equal"

    def _load_outcome(self, *, refused: bool) -> str:
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                loaded = self._loaded()
        except SomelabError as error:
            return "refused" if is_one_line(error) else ""
        if said.getvalue():
            assert said.getvalue().startswith("note: ")
            assert refused, "a notice without damage"
            return "replaced"
        assert loaded == self.loaded, "another model was loaded without a word"
        return "refused" if refused else "equal"


def is_one_line(error: SomelabError) -> bool:
    assert "\n" not in str(error), f"more than a line: {error}"
    return True


def _text(content: Any) -> str:
    return json.dumps(content, sort_keys=True)


def _digest(array: Any) -> str:
    return hashlib.blake2b(array.tobytes(), digest_size=8).hexdigest() + str((array.dtype, array.shape))


def mutate(subject: Subject, num_trials: int, seed: int) -> Counter[str]:
    """Damage one file after another and restore it; outcomes by kind. Raises AssertionError that names the
    trial."""
    outcomes: Counter[str] = Counter()
    for trial in range(num_trials):
        rng = random.Random(f"{seed}/{trial}")
        path, mutation = subject.files[trial % len(subject.files)], rng.choice(MUTATIONS)
        content = path.read_bytes()
        if not content or (damaged := mutation(rng, content)) == content:
            outcomes["no change"] += 1
            continue
        path.write_bytes(damaged)
        try:
            outcomes[subject.outcome(path, whole=trial % EVERY_WHOLE == 0)] += 1
        except Exception as error:
            raise AssertionError(
                f"seed {seed}, trial {trial}: {mutation.__name__} of {path}: {error!r}"
            ) from error
        finally:
            path.write_bytes(content)
    return outcomes
