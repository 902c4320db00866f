"""somelab bench: speed and memory, compared with the published notebooks, a dense block and other libraries,
in one run."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from somelab.errors import ConfigError, SomelabError

if TYPE_CHECKING:
    from somelab.bench.results import Result

What = Literal["layer", "gravity", "step", "generate", "memory", "scaling", "all"]
JUDGED_PRESETS = (None, "a1")


@dataclass(frozen=True)
class Arguments:
    """Measure speed and memory, interleaved in one run: medians, quartiles, and ratios (other time / our
    time).

    layer: the expert pass; gravity: moving keys, as a share of a step; step: a whole training step; generate:
    with and without the cache; memory: at the peak of a step; scaling: from 64 to 512 experts. Peers: pip
    install 'somelab[bench]'."""

    what: Annotated[What, tyro.conf.Positional]
    """Which benchmark; all: every one, in less than a quarter of an hour on two quiet cores."""
    json: bool = False
    """Print it for programs."""
    preset: str | None = None
    """Take the shapes of this preset. Without it: D=512, F=1024, E=64, K=4 and 8,192 tokens for a layer, a1
    for a model."""
    dtype: Literal["auto", "bf16", "fp32"] = "auto"
    """Type of the matrix products. auto: bf16 if the hardware supports it, else fp32."""
    repetitions: Annotated[int | None, tyro.conf.arg(help_behavior_hint="")] = None
    """Repetitions of each timing. Without it: five to nine times, or three where a time limit comes first."""
    quick: bool = False
    """Tiny shapes, two repetitions: does it run? Its numbers mean nothing."""
    big: bool = False
    """Measure the memory of b3 as well: 16 GB and several minutes."""
    data: str | None = None
    """Text for `step` and `memory`: a file, a folder or a dataset. Without it: made-up documents of
    TinyStories' lengths."""
    family: Literal["all", "dense", "int8", "hadamard"] = "all"
    """Experts for `scaling`; int8: a dense pool in that type."""
    join: Annotated[tuple[Path, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="FILE.json")] = ()
    """Measure nothing: join what `--json` printed for single benchmarks into a report of all (`--out`); may
    be given several times."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE.md", help_behavior_hint="")] = None
    """Write a report there, too."""

    def command(self) -> str:
        """The line that repeats this."""
        given = {
            name: value
            for name, value in vars(self).items()
            if name != "what" and value not in (None, False, "auto", "all", ())
        }
        flags = [f"--{name}" if value is True else f"--{name} {value}" for name, value in given.items()]
        return " ".join(["somelab bench", self.what, *flags])


def run(arguments: Arguments) -> None:
    _check(arguments)
    if find_spec("somelab.bench") is None:
        raise SomelabError(
            "the benchmarks are not in the installed package; run `somelab bench` in a checkout of somelab"
        )
    from somelab.bench import suite
    from somelab.bench.joining import joined
    from somelab.bench.settings import Settings
    from somelab.bench.surroundings import Watch
    from somelab.training.machine.process import prepare_process

    if arguments.join:
        _show(arguments, *joined(arguments.join))
        return
    prepare_process()
    settings = Settings(
        arguments.preset,
        arguments.dtype,
        arguments.repetitions,
        arguments.quick,
        arguments.big,
        arguments.data,
        arguments.family,
        announce=lambda doing: print(doing, file=sys.stderr, flush=True),
    )
    names = list(suite.BENCHES) if arguments.what == "all" else [arguments.what]
    watch = Watch()
    results = suite.run(names, settings)
    record: dict[str, Any] = {
        **_about(arguments),
        "dtype": settings.compute_name,
        "comparable": not arguments.quick and arguments.preset in JUDGED_PRESETS,
        "load": watch.stop(),
    }
    _show(arguments, record, results)


def _show(arguments: Arguments, record: dict[str, Any], results: list[Result]) -> None:
    """Compare with the bars, write the report, print."""
    from somelab.bench.bars import judge
    from somelab.bench.report import markdown
    from somelab.cli.terminal import print_json

    record["bars"] = judge(results, applies=record["comparable"])
    if arguments.out is not None:
        arguments.out.write_text(markdown(record, results), encoding="utf-8")
    if arguments.json:
        records = [result.record() for result in results]
        print_json({**record, "benches": records} if arguments.what == "all" else {**record, **records[0]})
        return
    for result in results:
        _print(result)
    _print_end(record, arguments)


def _check(arguments: Arguments) -> None:
    """What would otherwise show after minutes of measuring."""
    if arguments.repetitions is not None and arguments.repetitions < 1:
        raise ConfigError("repetitions", arguments.repetitions, "measures nothing", "give 1 or more")
    if arguments.big and arguments.what not in ("memory", "all"):
        raise ConfigError(
            "big", True, f"{arguments.what} has no larger form", "leave it out, or measure memory"
        )
    if arguments.family != "all" and arguments.what not in ("scaling", "all"):
        problem = f"{arguments.what} measures every family"
        raise ConfigError("family", arguments.family, problem, "leave it out, or measure scaling")
    if arguments.join and arguments.what != "all":
        raise ConfigError("join", len(arguments.join), f"{arguments.what} is one benchmark", "write all")
    if arguments.out is not None and not arguments.out.parent.is_dir():
        raise ConfigError(
            "out", str(arguments.out), "its folder does not exist", f"make {arguments.out.parent} first"
        )
    if arguments.preset is not None:
        from somelab.config import preset

        preset(arguments.preset)


def _about(arguments: Arguments) -> dict[str, Any]:
    from somelab import __version__
    from somelab.bench.peers import PACKAGES
    from somelab.cli.about import machine

    processor = machine.processor()
    return {
        "command": arguments.command(),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "somelab": __version__,
        "machine": {
            "processor": processor["name"],
            "features": processor["features"],
            "cores": processor["usable_cores"],
            "threads": machine.num_threads(),
            "memory": machine.memory()["total"],
            "python": platform.python_version(),
            "torch": machine.installed("torch"),
            "peers": {name: machine.installed(name) for name in PACKAGES},
        },
    }


def _print(result: Result) -> None:
    from somelab.bench.report import remark, shown, spread, times
    from somelab.cli.terminal import console, table

    print(f"{result.title}, {result.settings['dtype']}")
    listing = table(
        "case",
        "contender",
        "median",
        "quartiles",
        "ratio",
        "what differs",
        numbers=("median", "ratio"),
        wrapped=("what differs",),
    )
    for row in result.rows:
        listing.add_row(row.case, row.contender, shown(row), spread(row), times(row.ratio), remark(row))
    console().print(listing)
    for note in result.notes:
        print(note)
    print()


def _print_end(record: dict[str, Any], arguments: Arguments) -> None:
    from somelab.cli.terminal import console, table

    listing = table("measure", "bar", "stretch", "here", "", numbers=("bar", "stretch", "here"))
    for bar in record["bars"]:
        listing.add_row(bar["measure"], bar["bar"], bar["stretch"], bar["shown"], bar["verdict"])
    console().print(listing)
    if record["load"]["warning"]:
        print(f"\nDisturbed run: {record['load']['warning']}.")
    if arguments.out is not None:
        print(f"\nWritten to {arguments.out}.")
