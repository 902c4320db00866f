"""somelab resume: continue a run from its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Arguments:
    """Continue a run that was stopped or killed. Ctrl-C stops it again, as it does `train`."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    checkpoint: str = "last"
    """Which checkpoint to continue from: last, best, or a step that is kept, such as 200."""
    accept_config: bool = False
    """Continue with a config.yaml that was changed since training began. run.json records the change."""
    rule: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FILE")] = ()
    """The file of a user-defined rule that the run was begun with; may be given several times."""
    callback: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FILE")] = ()
    """A Python file with a callback of your own (`somelab.Callback`); may be given several times."""
    log: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="TRACKER")] = ()
    """Go on logging to tensorboard, trackio, wandb or mlflow; may be given several times."""


def run(arguments: Arguments) -> int:
    from somelab.cli.summary import conclude, progress_printer
    from somelab.interop.trackers import trackers_of
    from somelab.training.machine.process import prepare_process
    from somelab.training.session import go_on
    from somelab.training.user_files import callbacks_in, rules_in

    prepare_process()
    rules, callbacks = rules_in(*arguments.rule), callbacks_in(*arguments.callback)
    callbacks = [*callbacks, *trackers_of(arguments.log)]
    folder, outcome = go_on(
        arguments.run,
        arguments.checkpoint,
        progress_printer(),
        callbacks=callbacks,
        rules=rules,
        accept_config=arguments.accept_config,
    )
    return conclude(folder, outcome)
