"""`somelab sweep`: a series of the seeds, or a plan of one's own, over several seeds, and one table of what came out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from somelab.config import ScaleName
from somelab.errors import ConfigError, SomelabError

if TYPE_CHECKING:
    from somelab.experiments.plan import Plan
    from somelab.experiments.table import Row


@dataclass(frozen=True)
class Arguments:
    """Train every arm of a plan with several seeds, each in a run folder of its own, and write one table with intervals.

    What is finished is not trained again, what was stopped goes on, what fails is reported and the rest runs. Ctrl-C saves
    and stops; the same command goes on."""

    plan: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="PLAN", help_behavior_hint="")] = None
    """A series (`--list` shows them) or a YAML file with grid, list or pairs."""
    list: bool = False
    """Show the series and their arms."""
    scale: Annotated[ScaleName | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Make all arms smaller, by one table. Without it: full, or what the file says."""
    seeds: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """How many seeds each arm has, from 0 on. Without it: 3, or what the file says."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """What all arms read: builtin, a .txt/.jsonl/.parquet file or folder, tinystories, or a Hub dataset."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Where runs and table go. Without it: runs/sweeps/PLAN."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Runs beside each other. Without it: one a core, with one thread each."""
    executor: Literal["local", "ray"] = "local"
    """Processes on this machine, or tasks of a Ray cluster (the extra `ray`)."""
    minutes_per_arm: Annotated[float | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Train every run for so long instead of its steps or epochs."""
    json: bool = False
    """Print the table for programs."""
    overrides: tyro.conf.Suppress[dict[str, str]] = field(default_factory=dict)


def run(arguments: Arguments) -> int:
    if arguments.list:
        _list(arguments.json)
        return 0
    if arguments.plan is None:
        raise SomelabError("no plan is named; give a series (`somelab sweep --list`) or a YAML file")
    plan = _plan(arguments)
    from somelab.cli.summary import progress_printer
    from somelab.cli.terminal import print_json
    from somelab.experiments.sweep import run_sweep, timed
    from somelab.experiments.table import as_record

    settings = {**({"data.source": arguments.data} if arguments.data is not None else {}), **arguments.overrides}
    plan = plan.changed(settings)
    if arguments.minutes_per_arm is not None:
        plan = timed(plan, arguments.minutes_per_arm)
    out = arguments.out or Path("runs/sweeps") / plan.name
    result = run_sweep(plan, out, executor=arguments.executor, num_workers=arguments.workers, report=progress_printer())
    if arguments.json:
        print_json(as_record(result.plan, result.rows))
    else:
        _print(result.plan, result.rows)
        print(f"\nevery figure: {out}/table.md, .csv, .json; to look at: somelab report {out}")
    return result.exit_code


def _print(plan: Plan, rows: Sequence[Row]) -> None:
    """All of the table for a file or a pipe; a terminal has no room for its columns."""
    from somelab.cli.terminal import console, table
    from somelab.experiments.table import at_a_glance, markdown, remark_lines

    if not sys.stdout.isatty():
        print(f"\n{markdown(plan, rows)}", end="")
        return
    heads, body = at_a_glance(rows)
    shown = table(*heads, numbers=tuple(heads[2:]))
    for cells in body:
        shown.add_row(*cells)
    console().print(shown)
    print("\nmean ± half of the 95 % interval over seeds; differences are paired by seed")
    for line in remark_lines(plan, rows):
        print(line)


def _plan(arguments: Arguments) -> Plan:
    from somelab.experiments.plan import seeds_of
    from somelab.experiments.plan_file import plan_from_file
    from somelab.experiments.series import series_plan

    assert arguments.plan is not None
    seeds = None if arguments.seeds is None else seeds_of(arguments.seeds)
    if arguments.minutes_per_arm is not None and arguments.minutes_per_arm <= 0:
        raise ConfigError("minutes-per-arm", arguments.minutes_per_arm, "is not more than 0", "give a number of minutes")
    if arguments.plan.endswith((".yaml", ".yml")):
        return plan_from_file(Path(arguments.plan), arguments.scale, seeds)
    return series_plan(arguments.plan, arguments.scale or "full", seeds or seeds_of(3))


def _list(as_json: bool) -> None:
    from somelab.cli.terminal import console, print_json, table
    from somelab.experiments.series import SERIES

    if as_json:
        print_json(
            [
                {"name": name, "title": series.title, "arms": [entry.name for entry in series.entries()]}
                for name, series in SERIES.items()
            ]
        )
        return
    listing = table("series", "what it asks", "arms", wrapped=("what it asks", "arms"))
    for name, series in SERIES.items():
        listing.add_row(name, series.title, ", ".join(entry.name for entry in series.entries()))
    console().print(listing)
    print("\nsomelab sweep SERIES --scale micro --seeds 3 runs one; a YAML file may hold a plan of your own.")
