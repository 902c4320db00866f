"""A trained run made small enough to be shipped: half precision, no optimizer state, thinned journals and
snapshots. It is still a run folder, which every command opens; it cannot be trained further.

Frozen experts are drawn from their seed again, as in every run. Keys stay in float32. Links are replaced by
the folder itself, since archives and some systems have none. Nothing in it names a path of the machine that
trained it."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from somelab.config import Config, override
from somelab.config.files import digest
from somelab.disk import atomic, guarded
from somelab.errors import ConfigError
from somelab.model import Decoder
from somelab.runs import RunError, RunFolder, checkpoint
from somelab.runs.checkpoint import RunState
from somelab.runs.snapshot import LARGEST
from somelab.runs.state import name_of
from somelab.runs.trained import load_base

PACKED = "packed"
"""The key of run.json that marks a packed run."""
MEGABYTE = 1_000_000
MOST_RECORDS = {"metrics": 400, "layers": 60, "samples": 40, "timing": 400}
"""Of each journal; of metrics those of training steps, the others are kept."""
LEAST_SNAPSHOTS = 3
LEFT_OUT = ("native_kernels",)
"""Of environment.json: a path."""


def pack(
    run: RunFolder, out: Path, *, reads: str, megabytes: float, which: str = "last", name: str | None = None
) -> RunFolder:
    """Write a packed copy of a finished run of at most so many megabytes, with as many snapshots of the keys
    as fit.

    `reads`: the text for words and guilds, in place of the run's own, which stays where it is (built-in text
    is everywhere, and needs no other). `name`: of the packed run; None: that of its folder."""
    config = run.config()
    RunFolder(out).check_free()
    if not checkpoint.read_state(run).finished:
        raise RunError(f"run {run.path}: is not finished; `somelab resume {run.path}` continues it")
    trained = load_base(run, which)
    environment = _environment(run)
    named = override(config, {"data.source": name_of_source(config.data.source)})
    facts = _facts(run, named, name or out.name, reads)
    copy = RunFolder.create(out, named, facts, environment, run.read_text(run.tokenizer.name))
    lengths = {name: _copy_journal(run, copy, name, most) for name, most in MOST_RECORDS.items()}
    _halve_(trained.model)
    state = replace(trained.state, best_step=None, loader=None, journals=lengths, finished=True)
    _save(copy, trained.model, state)
    _copy_snapshots(run, copy, megabytes)
    return copy


def is_packed(run: RunFolder) -> bool:
    return PACKED in run.facts()


def reads_of(run: RunFolder) -> str | None:
    """The text that a packed run reads in place of its own; None for a run that has its own."""
    packed = run.facts().get(PACKED)
    reads = packed.get("reads") if isinstance(packed, dict) else None
    return reads if isinstance(reads, str) else None


def size_of(run: RunFolder) -> int:
    """Bytes of all its files."""
    return sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file())


def name_of_source(source: str) -> str:
    """A source without the folders that it lies in: they say more about a person than about data."""
    return Path(source).name if Path(source).is_absolute() else source


def _facts(run: RunFolder, config: Config, name: str, reads: str) -> dict[str, Any]:
    facts = {field: value for field, value in run.facts().items() if field != "format"}
    facts["data"] = {**facts["data"], "source": config.data.source}
    own = config.data.source if config.data.source.startswith("builtin") else None
    packed = {"dtype": "float16", "reads": None if own else reads}
    facts |= {"name": name, "config_digest": digest(config), PACKED: packed}
    return facts


def _environment(run: RunFolder) -> dict[str, Any]:
    known = {name: value for name, value in run.read_json("environment.json").items() if name not in LEFT_OUT}
    known["command"] = [name_of_source(str(word)) for word in known.get("command", [])]
    known["platform"] = str(known.get("platform", "")).partition("-")[0]  # the system, without its build
    return known


def _halve_(model: Decoder) -> None:
    """Weights to half precision; keys, usage and what else decides the routing stay in float32."""
    stored = checkpoint.stored_tensors(model).keys()
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if name in stored and tensor.is_floating_point() and ".keystore." not in name:
            tensor.data = tensor.data.half()


def _save(copy: RunFolder, model: Decoder, state: RunState) -> None:
    """The usual checkpoint without moments, as the folder `last` instead of a link to it."""
    no_moments = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    made = checkpoint.save(copy, model, no_moments, state)
    assert made.name == name_of(state.step)
    last = copy.checkpoints / "last"
    last.unlink()
    made.rename(last)


def _copy_journal(run: RunFolder, copy: RunFolder, name: str, most: int) -> int:
    records = run.records(name)
    many = [place for place, record in enumerate(records) if record.get("kind", "train") == "train"]
    kept = set(_evenly(many, most))
    written = copy.journal(name)
    for place, record in enumerate(records):
        if place in kept or record.get("kind", "train") != "train":
            written.append(record)
    length = written.length()
    written.close()
    return length


def _copy_snapshots(run: RunFolder, copy: RunFolder, megabytes: float) -> None:
    """As many as there is room for, evenly over the run, the first and the last always."""
    free = round(megabytes * MEGABYTE) - size_of(copy)
    run.check_folder(run.keys)
    found = sorted(run.keys.glob("step-*.safetensors"))
    if not found:
        return
    largest = max(path.stat().st_size for path in found)
    if free // largest < (least := min(len(found), LEAST_SNAPSHOTS)):
        needed = (size_of(copy) + least * largest) / MEGABYTE
        shutil.rmtree(copy.path)
        raise ConfigError(
            "--megabytes",
            megabytes,
            f"is too little for the model and {least} snapshots of its keys",
            f"allow {math.ceil(10 * needed) / 10:g} or more, or train a smaller model",
        )
    fitting = free // largest
    for path in _evenly(found, fitting):
        atomic.write_bytes(copy.keys / path.name, guarded.read_bytes(path, limit=LARGEST, inside=run.path))


def _evenly(items: list[Any], most: int) -> list[Any]:
    """At most so many of them, evenly spaced, the first and the last among them."""
    if len(items) <= most:
        return items
    places = {round(number * (len(items) - 1) / (most - 1)) for number in range(most)}
    return [items[place] for place in sorted(places)]
