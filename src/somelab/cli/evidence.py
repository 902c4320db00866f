"""`somelab evidence`: every claim of the seeds as an experiment with a verdict, an interval and the command that repeats it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.experiments.claims import Claim
    from somelab.experiments.ledger import Ledger

STORE = Path("runs/evidence")


@dataclass(frozen=True)
class Arguments:
    """Train the arms that the claims need, each once, and write what they say: supported, refuted or undecided.

    Verdicts are computed from run folders. What is finished is not trained again; Ctrl-C, or the end of a budget, saves and
    stops, and the same command goes on. Arms come in an order in which a budget answers the most claims."""

    claims: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[CLAIM ...]", help_behavior_hint="")] = ()
    """Which claims; without any: all."""
    undecided: bool = False
    """Of these, only the claims that the store leaves undecided: with --scale mini, those that micro has not settled."""
    list: bool = False
    """Show the claims, what is done of them, and how long the rest will take."""
    report: bool = False
    """Train nothing: write the page from the runs that there are."""
    scale: Literal["micro", "mini"] = "micro"
    """How large the arms are."""
    seeds: Annotated[int, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 3)")] = 3
    """How many seeds each arm has, from 0 on."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """The text to train on. Without it: what the store was begun with, else tinystories."""
    shift: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """The text of another kind that claims about adaptation read. Without it: what the store was begun with, else builtin."""
    budget: Annotated[float | None, tyro.conf.arg(metavar="MINUTES", help_behavior_hint="")] = None
    """Stop after so many minutes."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Runs beside each other. Without it: one a core, with one thread each."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="(default: runs/evidence)")] = STORE
    """The store of all runs of the ledger."""
    write: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """The page to write. Without it: docs/evidence.md in a checkout of somelab, else evidence.md in the store."""
    json: bool = False
    """Print the ledger for programs."""


def run(arguments: Arguments) -> int:
    from somelab.cli.terminal import print_json
    from somelab.experiments.claims import claims_named
    from somelab.experiments.ledger import Ledger
    from somelab.experiments.plan import seeds_of

    if arguments.budget is not None and arguments.budget <= 0:
        raise ConfigError("budget", arguments.budget, "is not more than 0", "give a number of minutes")
    claims = claims_named(arguments.claims)
    if arguments.undecided and not (claims := _undecided(arguments, claims)):
        say = f"{arguments.out}: none of the claims that were run is undecided"
        print_json([]) if arguments.json else print(say)
        return 0
    ledger = Ledger(arguments.out, claims, arguments.scale, seeds_of(arguments.seeds), arguments.data, arguments.shift)
    if arguments.list:
        _list(ledger, arguments.json)
        return 0
    interrupted = failed = False
    if not arguments.report:
        from somelab.cli.summary import progress_printer

        driven = ledger.run(minutes=arguments.budget, num_workers=arguments.workers, report=progress_printer())
        interrupted, failed = driven.interrupted and arguments.budget is None, bool(driven.failed)
    target = _write(arguments)
    if arguments.json:
        from somelab.experiments.ledger_page import records

        print_json(records([ledger]))
    else:
        _print(ledger)
        print(f"\npage: {target}")
    return 130 if interrupted else 1 if failed else 0


def _write(arguments: Arguments) -> Path:
    """The page has all claims at all scales that the store holds, whichever were asked for now."""
    from somelab.disk import atomic
    from somelab.experiments.claims import CLAIMS
    from somelab.experiments.ledger_page import page

    target = arguments.write or (Path("docs/evidence.md") if _in_checkout() else arguments.out / "evidence.md")
    with atomic.explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(target, page(_stored(arguments, [*CLAIMS.values()])))
    return target


def _undecided(arguments: Arguments, claims: Sequence[Claim]) -> Sequence[Claim]:
    from somelab.experiments.ledger_page import by_claim
    from somelab.experiments.verdict import headline

    results = by_claim(_stored(arguments, claims))
    return [claim for claim in claims if headline(results[claim.id]).verdict == "undecided"]


def _stored(arguments: Arguments, claims: Sequence[Claim]) -> Sequence[Ledger]:
    """These claims at every scale, with all seeds that the store has."""
    from somelab.experiments.ledger import SCALES, Ledger, stored_seeds

    seeds = {scale: stored_seeds(arguments.out, scale, arguments.seeds) for scale in SCALES}
    return [Ledger(arguments.out, claims, scale, seeds[scale], arguments.data, arguments.shift) for scale in SCALES]


def _in_checkout() -> bool:
    return Path("src/somelab/experiments").is_dir() and Path("docs").is_dir()


def _print(ledger: Ledger) -> None:
    from somelab.cli.terminal import console, entry, headings, table
    from somelab.experiments.ledger_page import telling_figures

    names = headings("claim", "what was measured")
    shown = table(*names, "verdict", "effect", "95 % interval", "seeds", numbers=("effect", "seeds"), wrapped=names)
    for result in ledger.results():
        measured, *figures = telling_figures(result)
        shown.add_row(*entry(result.claim.id, measured), result.verdict, *figures, str(result.num_seeds or ""))
    console().print(shown)


def _list(ledger: Ledger, as_json: bool) -> None:
    from somelab.cli.terminal import console, entry, headings, print_json, table
    from somelab.experiments.drive import room
    from somelab.experiments.ledger_page import listing
    from somelab.train.views import duration

    rows = listing(ledger)
    cost = ledger.cost(ledger.claims)
    workers, _ = room(None)
    if as_json:
        print_json({"claims": rows, "runs": cost.num_runs, "finished": cost.num_finished, "core_seconds_left": cost.seconds_left})
        return
    names = headings("claim", "what it says")
    shown = table(*names, "runs", "core-min left", "verdict", numbers=("runs", "core-min left"), wrapped=names)
    for row in rows:
        runs = f"{row['finished']}/{row['runs']}"
        shown.add_row(*entry(row["id"], row["sentence"]), runs, f"{row['core_minutes_left']:.0f}", row["verdict"])
    console().print(shown)
    print(
        f"\n{len(rows)} claim{'s' if len(rows) > 1 else ''} at {ledger.scale} scale with {len(ledger.seeds)} seeds: "
        f"{cost.num_runs} runs of shared arms, {cost.num_finished} finished.\n"
        f"The whole takes about {duration(cost.seconds)} of one core; what is left "
        f"{duration(cost.seconds_left)}, on the {workers} cores here about {duration(cost.seconds_left / workers)}."
    )
