"""somelab reproduce: a published run trained again, with the published figures beside ours and a page."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from somelab.cli.choice import Choice
from somelab.errors import SomelabError

if TYPE_CHECKING:
    from somelab.experiments.reproduction.reproduce import Reproduction


@dataclass(frozen=True)
class Arguments(Choice):
    """Train a published run, and put the published figures beside ours, epoch by epoch. First an estimate of
    the hours, measured on this machine.

    Ctrl-C (or SIGTERM) finishes the current step, saves, writes tables and page as far as the run came, and
    ends with exit code 130; the same command continues exactly there. Without changes of settings and at full
    scale it is the published run itself."""

    preset: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="PRESET", help_behavior_hint="")
    ] = None
    """Which published run; `somelab presets` lists them."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """The text, if it is not to be loaded as TinyStories from the Hub: a file such as tinystories-train.txt
    with tinystories-valid.txt beside it, or builtin."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """The run folder. Without it: runs/reproduce-PRESET. A run that is there is continued."""
    estimate: bool = False
    """Only print the estimate."""
    no_page: bool = False
    """Write the tables and no page."""
    json: bool = False
    """Print JSON at the end."""


def run(arguments: Arguments) -> int:
    from somelab.cli.summary import INTERRUPTED, progress_printer
    from somelab.cli.terminal import console, print_json
    from somelab.experiments.reproduction.reproduce import prepared
    from somelab.training.machine.process import prepare_process

    if arguments.preset is None:
        raise SomelabError("no published run is named; give one, such as a1 (`somelab presets` lists them)")
    settings = dict(arguments.overrides)
    if arguments.data is not None:
        if "data.source" in settings:
            raise SomelabError("--data and --data.source are the same setting; leave one of them out")
        settings["data.source"] = arguments.data
    chosen = replace(arguments, overrides=settings).resolve(arguments.preset)
    assert chosen.preset is not None
    scale = "" if arguments.scale == "full" else f"-{arguments.scale}"
    folder = arguments.out or Path("runs") / f"reproduce-{chosen.name}{scale}"
    prepare_process()
    given = {name.replace("-", "_") for name in settings}
    made = prepared(
        chosen.preset, chosen.config, arguments.scale, folder, dict.fromkeys(given), progress_printer()
    )
    out = console() if not arguments.json else None
    found = None
    if not made.is_finished:
        found = made.estimate()
        if out is not None:
            out.print(f"{chosen.name}, {made.size_words()}: {found.sentence()}", soft_wrap=True)
    if arguments.estimate:
        if arguments.json:
            print_json({"estimate": found.record() if found else None})
        elif out is not None and found is None:
            out.print(f"{folder}: is finished", soft_wrap=True)
        return 0
    interrupted = False
    if not made.is_finished:
        interrupted = made.train(progress_printer()).reason == "interrupted"
    written = made.write(page=not arguments.no_page, report=lambda doing: print(doing, file=sys.stderr))
    if arguments.json:
        print_json(
            {
                "preset": chosen.name,
                "scale": arguments.scale,
                "finished": not interrupted,
                "estimate": found.record() if found else None,
                "epochs": [row.record() for row in made.epochs()],
                "files": [str(path) for path in written],
            }
        )
    else:
        _print(made, [str(path) for path in written], interrupted, _again(arguments, folder))
    return INTERRUPTED if interrupted else 0


def _print(made: Reproduction, written: list[str], interrupted: bool, again: str) -> None:
    from somelab.cli.terminal import console, table
    from somelab.experiments.reproduction.figures import columns_for

    rows = made.epochs()
    columns = columns_for(made.figures, rows)
    out = console()
    listing = table("figure", *(f"epoch {row.words}" for row in rows))
    for column in columns:
        cells = [_cell(row.published, row.ours, column.title, column.form) for row in rows]
        listing.add_row(column.title, *cells)
    out.print("")
    out.print(listing)
    out.print(f"published / ours ({made.size_words()}). {made.caveat()}", soft_wrap=True)
    left = made.left()
    if left is not None:
        out.print(left.sentence(), soft_wrap=True)
    if interrupted:
        out.print(f"stopped; saved. Continue with: {again}", soft_wrap=True)
    out.print("\n".join(written), soft_wrap=True)


def _cell(published: Mapping[str, float], ours: Mapping[str, float], title: str, form: str) -> str:
    sides = (format(side[title], form) if title in side else "-" for side in (published, ours))
    return " / ".join(sides)


def _again(arguments: Arguments, folder: Path) -> str:
    parts = ["somelab", "reproduce", str(arguments.preset)]
    if arguments.scale != "full":
        parts += ["--scale", arguments.scale]
    if arguments.data is not None:
        parts += ["--data", arguments.data]
    for name, value in arguments.overrides.items():
        parts += [f"--{name}", value]
    return shlex.join([*parts, "--out", str(folder)])
