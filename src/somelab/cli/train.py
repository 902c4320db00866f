"""somelab train: from a preset to a trained model in a run folder, in one command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from somelab.cli.choice import Choice
from somelab.errors import ConfigError, SomelabError

DEFAULT_PRESET = "some"
DEFAULT_PROFILE_STEPS = 3


@dataclass(frozen=True)
class Arguments(Choice):
    """Train a model. Without a preset: `some`, the recipe that works.

    Ctrl-C (or SIGTERM) finishes the step at hand, saves, and ends with exit code 130; `somelab resume` then goes on as if nothing
    had happened."""

    preset: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="PRESET", help_behavior_hint="")] = None
    """Which preset to train; `somelab presets` lists them."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """What to read: builtin, a .txt/.jsonl/.parquet file or folder, tinystories, or a Hub dataset."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Train for so many optimizer steps."""
    epochs: Annotated[float | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Train for so many passes over the data."""
    minutes: Annotated[float | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Train for so long."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Everything random follows from this number."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """The run folder to write. Without it: a new one under runs/."""
    profile: bool = False
    """Say where the time of a step goes, and keep a trace of a few steps in the run folder. Training goes on as it would have."""
    profile_steps: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """With --profile: so many steps. Without it: 3."""

    def settings(self) -> dict[str, str]:
        """The short flags as the dotted settings that they stand for, and the dotted ones themselves."""
        short = {
            "data.source": self.data,
            "train.steps": self.steps,
            "train.epochs": self.epochs,
            "train.minutes": self.minutes,
            "train.seed": self.seed,
        }
        given = {name: str(value) for name, value in short.items() if value is not None}
        if twice := sorted(given.keys() & self.overrides.keys()):
            flag = twice[0].split(".")[1].replace("source", "data")
            raise SomelabError(f"--{flag} and --{twice[0]} say the same; leave one of them out")
        return {**given, **self.overrides}

    def profiled(self) -> int | None:
        """How many steps to profile; None: none."""
        if self.profile_steps is None:
            return DEFAULT_PROFILE_STEPS if self.profile else None
        if not self.profile:
            raise ConfigError("--profile-steps", self.profile_steps, "nothing is profiled", "add --profile, or leave it out")
        if self.profile_steps < 1:
            raise ConfigError("--profile-steps", self.profile_steps, "measures nothing", "give 1 or more")
        return self.profile_steps


def run(arguments: Arguments) -> int:
    from dataclasses import replace

    from somelab.cli.summary import conclude, progress_printer

    profile_steps = arguments.profiled()
    named = arguments.preset or (None if arguments.config else DEFAULT_PRESET)
    chosen = replace(arguments, overrides=arguments.settings()).resolve(named)
    label = chosen.name if chosen.preset else Path(chosen.name).stem
    label = label if arguments.scale == "full" else f"{label}-{arguments.scale}"
    out = arguments.out or free_folder(f"{label}-seed{chosen.config.train.seed}")
    from somelab.train.process import prepare_process
    from somelab.train.session import start

    prepare_process()
    facts = {"name": out.name, "preset": chosen.preset.name if chosen.preset else None, "scale": arguments.scale}
    folder, outcome = start(chosen.config, out, facts, progress_printer(), profile_steps)
    return conclude(folder, outcome)


def free_folder(name: str) -> Path:
    """runs/NAME, or runs/NAME-2 and so on where that exists."""
    folder, number = Path("runs") / name, 2
    while folder.exists():
        folder, number = Path("runs") / f"{name}-{number}", number + 1
    return folder
