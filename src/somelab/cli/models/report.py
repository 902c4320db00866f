"""somelab report: one self-contained page about runs, sweeps and continual studies, and optionally every plot
as a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from somelab.errors import ConfigError, SomelabError

if TYPE_CHECKING:
    from somelab.view.schema.page import Page

MAPS = "pca,tsne"
"""UMAP takes half a minute to load before it draws."""
WORK = {"loading": 1.0, "reading": 1.5, "guilds": 0.5, "pca": 0.1, "tsne": 2.0, "umap": 10.0}
"""Seconds that parts of a report take on a quiet core, roughly: by these the estimate weighs them."""


@dataclass(frozen=True)
class Arguments:
    """Write a page that shows runs from the inside: curves, balance, key maps, guilds, traces, comparison;
    and what sweeps and continual studies found. It is one file that needs neither network nor somelab to be
    read."""

    runs: Annotated[
        tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER ...", help_behavior_hint="")
    ] = ()
    """One or several folders: of a run, of a sweep (its runs come along, without maps, guilds and traces), of
    a continual study."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE", help_behavior_hint="")] = None
    """The page to write. Without it: report.html, unless only figures or data are asked for."""
    figures: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Also write every plot as SVG and PNG, and every table as CSV, into this folder."""
    maps: Annotated[str, tyro.conf.arg(metavar="LIST")] = MAPS
    """Which maps of the keys: pca, tsne, umap (slow). Those whose package is missing are left out, and the
    page lists them."""
    tokens: Annotated[int, tyro.conf.arg(metavar="N")] = 20_000
    """Tokens of validation text that the model reads for words and guilds; 0: none."""
    seed: int = 0
    """Random seed of maps, permutations and resampling."""
    data_only: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Write the page's data as JSON."""
    json: bool = False
    """Print JSON."""


def run(arguments: Arguments) -> int:
    from somelab.analysis.maps import parse_methods
    from somelab.view.page.groups import page_of
    from somelab.view.page.heavy import Options
    from somelab.view.report import check_file, check_folder, json_of, static_page, write_file, write_report

    if not arguments.runs:
        raise SomelabError(
            "no run is named; give one or several folders of runs, sweeps or continual studies, such as "
            "runs/a1"
        )
    if arguments.tokens < 0:
        raise ConfigError("--tokens", arguments.tokens, "is less than 0", "choose 0 or more")
    methods = parse_methods(arguments.maps)
    if missing := [path for path in arguments.runs if not path.is_dir()]:
        raise SomelabError(
            f"run {missing[0]}: there is no such folder; name one that `somelab train`, sweep or continual "
            "wrote"
        )
    out = arguments.out
    if out is None and arguments.figures is None and arguments.data_only is None:
        out = Path("report.html")
    # Report what is missing before the work, not after it.
    if out is not None:
        static_page()
        check_file(out)
    if arguments.data_only is not None:
        check_file(arguments.data_only, "--data-only")
    if arguments.figures is not None:
        from somelab.view.figures import check_installed

        check_installed()
        check_folder(arguments.figures, "--figures")
    options = Options(maps=methods, tokens=arguments.tokens, seed=arguments.seed)
    page = page_of(arguments.runs, options, Stages(arguments.runs, methods, arguments.tokens).say)
    written: dict[str, int] = {}
    if arguments.data_only is not None:
        written[str(arguments.data_only)] = write_file(arguments.data_only, json_of(page).encode())
    if arguments.figures is not None:
        from somelab.view.figures import write_figures

        written.update(write_figures(page, arguments.figures))
    if out is not None:
        written[str(out)] = write_report(page, out)
    _print_summary(page, written, arguments.figures, as_json=arguments.json)
    return 0


class Stages:
    """Progress on standard error, with an estimate of the time left from how much of the work is done."""

    def __init__(self, runs: Sequence[Path], methods: Sequence[str], tokens: int) -> None:
        self.maps = sum(WORK[method] for method in methods)
        self.words = tokens / 20_000
        self.total = sum(self._work_of(path) for path in runs)
        self.done, self.begun = 0.0, 0.0
        self.started = time.monotonic()

    def _work_of(self, path: Path) -> float:
        """Seconds of a quiet core, roughly. What is no run costs nothing here."""
        from somelab.errors import SomelabError
        from somelab.runs import RunFolder

        try:
            num_layers = RunFolder(path).config().model.num_layers
        except (SomelabError, OSError):
            return 0.0
        return WORK["loading"] + self.words * WORK["reading"] + num_layers * (WORK["guilds"] + self.maps)

    def say(self, doing: str) -> None:
        self.done += self.begun
        kind = doing.split()[0]
        self.begun = self.maps if kind == "maps" else WORK.get(kind, 0.0)
        passed = time.monotonic() - self.started
        rate = passed / self.done if self.done else 1.0
        left = max(1.0, rate * (self.total - self.done))
        print(f"{doing}, about {left:.0f} s left", file=sys.stderr, flush=True)


def _print_summary(page: Page, written: dict[str, int], figures: Path | None, *, as_json: bool) -> None:
    from somelab.cli.terminal import console, print_json, say
    from somelab.view.page.groups import is_light

    results = [
        *({"id": one.id, "kind": "sweep", "problem": one.problem} for one in page.sweeps),
        *({"id": one.id, "kind": "continual", "problem": one.problem} for one in page.studies),
    ]
    runs = [
        {
            "id": run.id,
            "status": run.status,
            "verdict": run.verdict,
            "left_out": {part.name: part.reason for part in run.left_out},
        }
        for run in page.runs
    ]
    if as_json:
        print_json({"runs": runs, "results": results, "files": written})
        return
    out = console()
    for one in page.sweeps:
        what = f"{len(one.arms)} arms, {sum(len(arm.seeds) for arm in one.arms)} finished runs"
        out.print(f"{one.name} (sweep): {one.problem or what}", soft_wrap=True)
    for one in page.studies:
        what = f"{len(one.learners)} learners, {len(one.experiences)} experiences"
        out.print(f"{one.name} (continual): {one.problem or what}", soft_wrap=True)
    for run in page.runs:
        if is_light(run) and run.problem is None:
            continue
        say(f"{run.name} ({run.status}): {run.verdict}")
        for reason in dict.fromkeys(part.reason for part in run.left_out):
            say(f"  left out: {reason}")
    drawn = {
        path: size for path, size in written.items() if figures is not None and Path(path).parent == figures
    }
    if drawn:
        out.print(f"{figures}: {len(drawn)} figures and tables, {_size(sum(drawn.values()))}", soft_wrap=True)
    for path, size in written.items():
        if path not in drawn:
            out.print(f"{path}: {_size(size)}", soft_wrap=True)


def _size(num_bytes: int) -> str:
    return f"{num_bytes / 1e6:.2f} MB" if num_bytes >= 1e6 else f"{num_bytes / 1e3:.0f} kB"
