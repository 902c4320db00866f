"""somelab train: from a preset to a trained model in a run folder, in one command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from somelab.cli.choice import Choice
from somelab.config.short_names import DEFAULT_PRESET, SHORT_NAMES, given_short
from somelab.errors import ConfigError, SomelabError

if TYPE_CHECKING:
    from somelab.config import Config

DEFAULT_PROFILE_STEPS = 3


@dataclass(frozen=True)
class Arguments(Choice):
    """Train a model. Without a preset: `some`, this project's own settings.

    Ctrl-C (or SIGTERM) finishes the current step, saves, and ends with exit code 130; `somelab resume`
    continues exactly there."""

    preset: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="PRESET", help_behavior_hint="")
    ] = None
    """Which preset to train; `somelab presets` lists them."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """The data: builtin, a .txt/.jsonl/.parquet file or folder, tinystories, or a Hub dataset."""
    steps: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Number of optimizer steps."""
    epochs: Annotated[float | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Number of passes over the data."""
    minutes: Annotated[float | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Training time."""
    seed: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Random seed of the run."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """The run folder to write. Without it: a new one under runs/."""
    rule: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FILE")] = ()
    """A Python file with a rule of your own that moves keys beside the others; may be given several times."""
    callback: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FILE")] = ()
    """A Python file with a callback of your own (`somelab.Callback`); may be given several times."""
    log: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="TRACKER")] = ()
    """Also log to tensorboard, trackio, wandb or mlflow, offline; may be given several times."""
    profile: bool = False
    """Report where the time of a step goes, and save a trace of a few steps in the run folder. Training is
    not changed."""
    profile_steps: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """With --profile: number of steps. Without it: 3."""

    def settings(self) -> dict[str, str]:
        """The short flags as dotted settings, and the dotted ones themselves."""
        values = {name: getattr(self, name) for name in SHORT_NAMES}
        given = {name: str(value) for name, value in given_short(**values).items()}
        for flag, name in SHORT_NAMES.items():
            if name in given and name in self.overrides:
                raise SomelabError(f"--{flag} and --{name} are the same setting; leave one of them out")
        return {**given, **self.overrides}

    def profiled(self) -> int | None:
        """How many steps to profile; None: none."""
        if self.profile_steps is None:
            return DEFAULT_PROFILE_STEPS if self.profile else None
        if not self.profile:
            raise ConfigError(
                "--profile-steps", self.profile_steps, "nothing is profiled", "add --profile, or leave it out"
            )
        if self.profile_steps < 1:
            raise ConfigError("--profile-steps", self.profile_steps, "measures nothing", "give 1 or more")
        return self.profile_steps


def run(arguments: Arguments) -> int:
    from dataclasses import replace

    from somelab.cli.summary import conclude, progress_printer
    from somelab.cli.terminal import say
    from somelab.interop.trackers import trackers_of
    from somelab.training.machine.process import prepare_process
    from somelab.training.session import free_folder, start
    from somelab.training.user_files import callbacks_in, rules_in

    profile_steps = arguments.profiled()
    named = arguments.preset or (None if arguments.config else DEFAULT_PRESET)
    chosen = replace(arguments, overrides=arguments.settings()).resolve(named)
    label = chosen.name if chosen.preset else Path(chosen.name).stem
    label = label if arguments.scale == "full" else f"{label}-{arguments.scale}"
    out = arguments.out or free_folder(f"{label}-seed{chosen.config.train.seed}")
    prepare_process()
    rules, callbacks = rules_in(*arguments.rule), callbacks_in(*arguments.callback)
    callbacks = [*callbacks, *trackers_of(arguments.log)]
    if advice := _advice(arguments, chosen.preset.name if chosen.preset else None, chosen.config):
        say(f"note: {advice}")
    facts = {
        "name": out.name,
        "preset": chosen.preset.name if chosen.preset else None,
        "scale": arguments.scale,
    }
    folder, outcome = start(
        chosen.config, out, facts, progress_printer(), profile_steps, callbacks=callbacks, rules=rules
    )
    return conclude(folder, outcome)


def _advice(arguments: Arguments, preset: str | None, config: Config) -> str:
    """The ledger's advice on the published learning rate, unless the user has set another."""
    if "train.learning_rate" in arguments.overrides or arguments.scale == "full":
        return ""
    from somelab.experiments.ledger import records
    from somelab.experiments.ledger.advice import rate_advice

    return rate_advice(preset, arguments.scale, config, records.read())
