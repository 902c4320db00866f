"""`somelab sweep`: a published series or a plan file, each arm with several random seeds, and one table of
results."""

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
    from somelab.experiments.runner.plan import Plan
    from somelab.experiments.sweeps.table import Row
    from somelab.experiments.tuning.request import Request


@dataclass(frozen=True)
class Arguments:
    """Train every arm of a plan with several random seeds, each in its own run folder, and write one table
    with intervals.

    Finished runs are kept, stopped runs continue, failures are reported and the rest runs. Ctrl-C saves and
    stops; the same command continues.

    With --tune, each arm is trained at its own best value of a setting: a comparison at one learning rate
    favours the arm for which this rate is best. Tuning runs use another random seed and documents held out
    from the training text, so that settings are not selected on the validation text. An arm whose best value
    lies at the edge of what was tried is marked untuned, and its differences are not set in bold."""

    plan: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="PLAN", help_behavior_hint="")
    ] = None
    """A series (`--list` shows them) or a YAML file with grid, list or pairs."""
    list: bool = False
    """Show the series and their arms."""
    scale: Annotated[ScaleName | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Make all arms smaller, by one table. Without it: full, or as in the file."""
    seeds: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Number of random seeds per arm, from 0 on. Without it: 3, or as in the file."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """The data of all arms: builtin, a .txt/.jsonl/.parquet file or folder, tinystories, or a Hub dataset."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Where runs and table go. Without it: runs/sweeps/PLAN."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Parallel runs. Without it: one per core, with one thread each."""
    executor: Literal["local", "ray", "slurm"] = "local"
    """Processes on this machine, tasks of a Ray cluster (the extra `ray`), or jobs of Slurm (`slurm`)."""
    minutes_per_arm: Annotated[float | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Train every run for this long instead of its steps or epochs."""
    tune: Annotated[
        tuple[str, ...],
        tyro.conf.UseAppendAction,
        tyro.conf.arg(metavar="FIELD[=V1,V2,...]", help_behavior_hint=""),
    ] = ()
    """Search the best value of one setting for every arm before its seeds are trained, such as
    train.learning_rate. FIELD alone: on a grid of factors of 2 around the arm's own value, extended until the
    best value has a worse one on either side. FIELD=V1,V2,...: among these values, numbers or words; the
    better half continues after a quarter and after half of the run. Arms need train.steps."""
    json: bool = False
    """Print the table for programs."""
    overrides: tyro.conf.Suppress[dict[str, str]] = field(default_factory=dict)


def run(arguments: Arguments) -> int:
    if arguments.list:
        _list(arguments.json)
        return 0
    if arguments.plan is None:
        raise SomelabError("no plan is named; give a series (`somelab sweep --list`) or a YAML file")
    plan, tune = _plan(arguments), _tune(arguments)
    from somelab.cli.summary import progress_printer
    from somelab.cli.terminal import print_json
    from somelab.experiments.sweeps.sweep import run_sweep, timed
    from somelab.experiments.sweeps.table import as_record

    settings = {
        **({"data.source": arguments.data} if arguments.data is not None else {}),
        **arguments.overrides,
    }
    plan = plan.changed(settings)
    if arguments.minutes_per_arm is not None:
        plan = timed(plan, arguments.minutes_per_arm)
    out = arguments.out or Path("runs/sweeps") / plan.name
    result = run_sweep(
        plan,
        out,
        tune=tune,
        executor=arguments.executor,
        num_workers=arguments.workers,
        report=progress_printer(),
    )
    if arguments.json:
        print_json(as_record(result.plan, result.rows))
    else:
        print_table(result.plan, result.rows)
        print_where(out)
    return result.exit_code


def print_table(plan: Plan, rows: Sequence[Row]) -> None:
    """The whole table for a file or a pipe; a terminal is too narrow for its columns."""
    from somelab.cli.terminal import console, table
    from somelab.experiments.sweeps.table import at_a_glance, markdown, remark_lines, tuning_lines

    if not sys.stdout.isatty():
        print(f"\n{markdown(plan, rows)}", end="")
        return
    heads, body = at_a_glance(plan.measures, rows)
    shown = table(*heads, numbers=tuple(heads[2:]))
    for cells in body:
        shown.add_row(*cells)
    console().print(shown)
    print("\nmean ± half of the 95 % interval over seeds; differences are paired by seed")
    for line in [*tuning_lines(rows), *remark_lines(plan, rows)]:
        print(line)


def print_where(out: Path) -> None:
    print(f"\nevery figure: {out}/table.md, .csv, .json; to look at: somelab report {out}")


def _plan(arguments: Arguments) -> Plan:
    from somelab.experiments.runner.plan import seeds_of
    from somelab.experiments.sweeps.plan_file import plan_from_file
    from somelab.experiments.sweeps.series import series_plan

    assert arguments.plan is not None
    seeds = None if arguments.seeds is None else seeds_of(arguments.seeds)
    if arguments.minutes_per_arm is not None and arguments.minutes_per_arm <= 0:
        raise ConfigError(
            "minutes-per-arm", arguments.minutes_per_arm, "is not more than 0", "give a number of minutes"
        )
    if arguments.plan.endswith((".yaml", ".yml")):
        return plan_from_file(Path(arguments.plan), arguments.scale, seeds)
    return series_plan(arguments.plan, arguments.scale or "full", seeds or seeds_of(3))


def _tune(arguments: Arguments) -> Request | None:
    """What is to be tuned; None: nothing. Two settings would need a search over their pairs."""
    from somelab.experiments.tuning.request import parse_request

    if not arguments.tune:
        return None
    first, *others = arguments.tune
    if others:
        remedy = "give --tune once, and the other setting in a second sweep"
        raise ConfigError("tune", ", ".join(arguments.tune), "one setting is tuned at a time", remedy)
    if arguments.minutes_per_arm is not None:
        problem = "a search compares runs of equal length in steps, which --tune needs"
        remedy = "set --train.steps in place of it, or leave --tune out"
        raise ConfigError("minutes-per-arm", arguments.minutes_per_arm, problem, remedy)
    return parse_request(first)


def _list(as_json: bool) -> None:
    from somelab.cli.terminal import console, print_json, say, table
    from somelab.experiments.sweeps.series import SERIES

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
    say("\nsomelab sweep SERIES --scale micro --seeds 3 runs one; a YAML file may hold a plan of your own.")
