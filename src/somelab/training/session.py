"""A run as a whole: from a configuration to a trained model in a folder, and resuming from a folder."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from somelab.config import Config
from somelab.config.files import digest, override
from somelab.core.gravity import Rule
from somelab.data.batches import Loader
from somelab.data.prepare import PreparedData, Progress, prepare
from somelab.model.count import count_parameters
from somelab.native import load as load_native
from somelab.runs import RunError, RunFolder, checkpoint
from somelab.training.callbacks import Callback, Pause
from somelab.training.callbacks.recorders import KeySnapshots, LayerJournal, Samples
from somelab.training.callbacks.views import LivePanel, PlainLines
from somelab.training.loop import Outcome, Trainer
from somelab.training.machine.environment import describe
from somelab.training.machine.memory import check_memory
from somelab.training.machine.world import World, join_world, leave_world
from somelab.training.rules import check_rules, check_same, remembered


def start(
    config: Config,
    out: Path,
    facts: dict[str, Any],
    progress: Progress | None = None,
    profile_steps: int | None = None,
    pause_at: int | None = None,
    callbacks: Sequence[Callback] = (),
    rules: Sequence[Rule] = (),
) -> tuple[RunFolder, Outcome]:
    """Train a new run in the folder `out`. `profile_steps`: number of steps to profile; None: none.

    `pause_at`: save and stop after that step; `go_on` continues. `callbacks`: further ones, after somelab's
    own. `rules`: further rules that move keys."""
    run = RunFolder(out)
    config = anchored(config)
    check_rules(config, rules)
    check_memory(config)
    world = join_world()
    # All checks come before anything is written, and cheap checks before slow ones.
    if world.is_first:
        run.check_free()
    data = _prepared(config, world, progress)
    Loader(data, config, world_size=world.size)
    if world.is_first:
        described = {
            **facts,
            "config_digest": digest(config),
            "data": data_facts(data),
            "parameters": asdict(count_parameters(config)),
            **({"rules": remembered(rules)} if rules else {}),
        }
        run = RunFolder.create(out, config, described, describe(world), data.tokenizer.to_json())
    world.barrier()
    with run.locked() if world.is_first else contextlib.nullcontext():
        return run, _fitted(
            Trainer(run, config, data, world, [*_callbacks(profile_steps, pause_at), *callbacks], rules)
        )


def go_on(
    path: Path,
    which: str = "last",
    progress: Progress | None = None,
    pause_at: int | None = None,
    callbacks: Sequence[Callback] = (),
    rules: Sequence[Rule] = (),
    accept_config: bool = False,
) -> tuple[RunFolder, Outcome]:
    """Continue a run from its checkpoint, bit for bit.

    `accept_config`: take a config.yaml that was changed since, and record the change in run.json."""
    run = RunFolder.open(path)
    config = run.config_as_it_is() if accept_config else run.config()
    if checkpoint.is_any(run) and checkpoint.read_state(run, which).finished:
        raise RunError(
            f"run {path}: is finished; `somelab eval {path}` measures it, `somelab train` starts another"
        )
    check_same(run, rules)
    world = join_world()
    data = _prepared(config, world, progress)
    run.check_data(data.digest)
    with run.locked() if world.is_first else contextlib.nullcontext():
        trainer = Trainer(run, config, data, world, [*_callbacks(pause_at=pause_at), *callbacks], rules)
        trainer.resume_(which)
        if world.is_first:
            run.accept_config_(config, trainer.state.step)
        return run, _fitted(trainer)


def anchored(config: Config) -> Config:
    """The configuration with a file's whole path, so that the run can be resumed from any folder."""
    path = os.path.expanduser(config.data.source)  # unlike Path's, no error for a user who does not exist
    return override(config, {"data.source": os.path.realpath(path)}) if os.path.exists(path) else config


def free_folder(name: str) -> Path:
    """runs/NAME, or runs/NAME-2 and so on if that exists."""
    folder, number = Path("runs") / name, 2
    while folder.exists():
        folder, number = Path("runs") / f"{name}-{number}", number + 1
    return folder


def _fitted(trainer: Trainer) -> Outcome:
    load_native()
    outcome = trainer.fit()
    leave_world()
    return outcome


def _prepared(config: Config, world: World, progress: Progress | None) -> PreparedData:
    """The first rank prepares the data; the others wait and read them."""
    data = prepare(config, progress=progress) if world.is_first else None
    world.barrier()
    return data if data is not None else prepare(config)


def data_facts(data: PreparedData) -> dict[str, Any]:
    """The numbers of documents and tokens."""
    return {
        "source": data.source,
        "digest": data.digest,
        "vocab_size": data.tokenizer.vocab_size,
        "train_documents": data.train.num_documents,
        "train_tokens": data.train.num_tokens,
        "train_bytes": data.train.num_bytes,
        "val_documents": data.val.num_documents,
        "val_tokens": data.val.num_tokens,
        "val_bytes": data.val.num_bytes,
    }


def _callbacks(profile_steps: int | None = None, pause_at: int | None = None) -> list[Callback]:
    layers = LayerJournal()
    console = Console()
    is_terminal = console.is_terminal and sys.stdout.isatty()
    view = LivePanel(layers, console) if is_terminal else PlainLines()
    callbacks: list[Callback] = [layers, KeySnapshots(), Samples(), view]
    if profile_steps is not None:
        from somelab.training.callbacks.profiling import StepProfile

        callbacks.append(StepProfile(profile_steps, console if is_terminal else None))
    if pause_at is not None:
        callbacks.append(Pause(pause_at))
    return callbacks
