"""somelab resume: continue a run as if nothing had happened."""

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
    """Which checkpoint to go on from: last or best."""


def run(arguments: Arguments) -> int:
    from somelab.cli.summary import conclude, progress_printer
    from somelab.train.process import prepare_process
    from somelab.train.session import go_on

    prepare_process()
    folder, outcome = go_on(arguments.run, arguments.checkpoint, progress_printer())
    return conclude(folder, outcome)
