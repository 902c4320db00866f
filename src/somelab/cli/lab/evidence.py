"""`somelab evidence`: every claim as an experiment with a verdict, an interval and the command that repeats
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from somelab.cli.lab.evidence_pages import check_texts, everywhere, run_frontier, write_pages
from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.experiments.claims import Claim
    from somelab.experiments.ledger.records import Records
    from somelab.experiments.ledger.store import Ledger

STORE = Path("runs/evidence")


@dataclass(frozen=True)
class Arguments:
    """Tune and train the arms that the claims need, each once, and evaluate the claims: supported, refuted or
    undecided.

    Each arm's learning rate is searched first, on text and a random seed that are not used for verdicts.
    Verdicts are computed from runs. What is finished is not trained again; Ctrl-C, or the end of a budget,
    saves and stops, and the same command continues. Arms are ordered so that a budget decides the most
    claims."""

    claims: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[CLAIM ...]", help_behavior_hint="")
    ] = ()
    """Which claims; without any: all."""
    verdict: Annotated[
        Literal["supported", "refuted", "undecided", "untuned", "not run"] | None,
        tyro.conf.arg(metavar="VERDICT", help_behavior_hint=""),
    ] = None
    """Of these, only the claims that have this verdict so far: supported, refuted, undecided, untuned or "not
    run". With `undecided --scale mini`, those that micro has not decided."""
    list: bool = False
    """Show every claim with its verdict, effect and interval, from the package's record and the store."""
    plan: bool = False
    """Train nothing: show which runs the claims need, and how long those will take."""
    report: bool = False
    """Train nothing: write the page from the existing runs."""
    frontier: bool = False
    """The blocks of the frontier (none, dense, learned mixture, published, some) in place of claims: tune,
    train, place them by loss and cost, and write frontier.md with its figure beside the page."""
    time: bool = False
    """With --frontier: train nothing; measure the time of a step of each block, and record it. Needs idle
    cores."""
    scale: Literal["micro", "mini"] = "micro"
    """How large the arms are."""
    length: Literal["short", "long"] = "short"
    """How long they are trained: 1.0 or 4.1 million tokens. Claims about quality are judged at both."""
    seeds: Annotated[int, tyro.conf.arg(metavar="N", help_behavior_hint="(default: 3)")] = 3
    """Number of random seeds per arm, from 0 on."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """The text to train on. Without it: what the store was begun with, else tinystories."""
    shift: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """The text of another kind that claims about adaptation read. Without it: what the store was begun with,
    else builtin."""
    budget: Annotated[float | None, tyro.conf.arg(metavar="MINUTES", help_behavior_hint="")] = None
    """Stop after this many minutes."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Parallel runs. Without it: one per core, with one thread each."""
    out: Annotated[Path, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="(default: runs/evidence)")] = (
        STORE
    )
    """The store of all runs of the ledger."""
    write: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """The page to write. Without it: docs/evidence.md in a checkout of somelab, else evidence.md in the
    store."""
    record: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Where figures, tuning curves and verdicts go as JSON. Without it: in a checkout into the package, whose
    record `--list` shows, unless --write names another page; else beside the page."""
    json: bool = False
    """Print the ledger for programs."""


def run(arguments: Arguments) -> int:
    from somelab.experiments.claims import claims_named
    from somelab.experiments.ledger import records

    if arguments.budget is not None and arguments.budget <= 0:
        raise ConfigError("budget", arguments.budget, "is not more than 0", "give a number of minutes")
    from somelab.experiments.streams.claims import CLAIMS as STREAM_CLAIMS

    named = tuple(name for name in arguments.claims if name not in STREAM_CLAIMS)
    of_streams = [STREAM_CLAIMS[name] for name in arguments.claims if name in STREAM_CLAIMS]
    if of_streams and not arguments.list:
        remedy = "somelab continual --tune --record, then somelab evidence --list"
        raise ConfigError("claim", of_streams[0].id, "is measured on a stream", remedy)
    known = records.read()
    arguments = _with_texts_on_record(arguments, known)
    claims = [] if of_streams and not named else claims_named(named)
    if arguments.frontier:
        return run_frontier(arguments, known)
    if arguments.list and not arguments.out.exists():  # the record is enough, without any run
        from somelab.experiments.ledger.listing import listed

        _list(arguments, [*listed(claims, known), *_streams(arguments, of_streams)])
        return 0
    if arguments.list:
        from somelab.experiments.ledger.listing import claim_records

        found = claim_records(everywhere(arguments, claims, known)) if claims else []
        _list(arguments, [*found, *_streams(arguments, of_streams)])
        return 0
    if arguments.verdict is not None:
        claims = _with_verdict(arguments, claims, known)
        if not claims:
            print("[]" if arguments.json else _none_left(arguments))
            return 0
    return _run(arguments, claims, known)


def _with_texts_on_record(arguments: Arguments, known: Records) -> Arguments:
    """What is only reported is of the texts on record, unless the store or the call has others."""
    from somelab.experiments.ledger.texts import stored_data

    if not (arguments.report or arguments.time) or stored_data(arguments.out) is not None:
        return arguments
    arguments = replace(arguments, shift=arguments.shift or known.texts.get("shift"))
    if arguments.time:  # the times of steps need a text that is there
        return arguments
    return replace(arguments, data=arguments.data or known.texts.get("data"))


def _streams(arguments: Arguments, named: Sequence[Claim]) -> list[dict[str, Any]]:
    """The claims about continual learning, from their own record; all where no claim is named."""
    from somelab.experiments.streams import records

    return records.claim_records(named if arguments.claims else None)


def _run(arguments: Arguments, claims: Sequence[Claim], known: Records) -> int:
    """Tune, train, compute verdicts, and write the page."""
    from somelab.cli.terminal import print_json
    from somelab.experiments.ledger.listing import claim_records
    from somelab.experiments.ledger.store import Ledger
    from somelab.experiments.runner.plan import seeds_of

    seeds, texts = seeds_of(arguments.seeds), (arguments.data, arguments.shift)
    ledger = Ledger(arguments.out, claims, arguments.scale, seeds, *texts, arguments.length, known)
    if arguments.plan:
        _plan(ledger, arguments.json)
        return 0
    check_texts(ledger, known, arguments)
    interrupted = failed = False
    if not arguments.report:
        from somelab.cli.summary import progress_printer

        driven = ledger.run(
            minutes=arguments.budget, num_workers=arguments.workers, report=progress_printer()
        )
        interrupted, failed = driven.interrupted and arguments.budget is None, bool(driven.failed)
    target = write_pages(arguments, known)
    if arguments.json:
        print_json(claim_records([ledger]))
    else:
        _print(ledger)
        print(f"\npage: {target}")
    return 130 if interrupted else 1 if failed else 0


def _with_verdict(arguments: Arguments, claims: Sequence[Claim], known: Records) -> Sequence[Claim]:
    from somelab.experiments.ledger.listing import by_claim
    from somelab.experiments.ledger.verdict import headline

    results = by_claim(everywhere(arguments, claims, known))
    return [claim for claim in claims if headline(results[claim.id]).verdict == arguments.verdict]


def _none_left(arguments: Arguments) -> str:
    return f"{arguments.out}: none of the claims asked for is {arguments.verdict}"


def _print(ledger: Ledger) -> None:
    from somelab.cli.terminal import console, entry, headings, table
    from somelab.experiments.ledger.page import deciding_figures

    names = headings("claim", "what was measured")
    shown = table(
        *names, "verdict", "effect", "95 % interval", "seeds", numbers=("effect", "seeds"), wrapped=names
    )
    for result in ledger.results():
        measured, *figures = deciding_figures(result)
        shown.add_row(
            *entry(result.claim.id, measured), result.verdict, *figures, str(result.num_seeds or "")
        )
    console().print(shown)


def _list(arguments: Arguments, found: Sequence[Mapping[str, Any]]) -> None:
    """Claims under the headings of their topics."""
    from somelab.cli.terminal import console, entry, headings, is_narrow, print_json, say, table, title
    from somelab.experiments.ledger.listing import counted, tokens_in_words

    claims = [one for one in found if arguments.verdict in (None, one["verdict"])]
    if arguments.json:
        print_json(claims)
        return
    if not claims:
        print(_none_left(arguments))
        return
    names = headings("claim", "statement")
    columns = LISTED[:3] if is_narrow() else LISTED
    shown = table(*names, *columns, numbers=("effect", "seeds"), wrapped=names)
    topic = None
    for one in claims:
        if one["topic"] != topic:
            topic = one["topic"]
            shown.add_row(title(topic))
        verdict = f"{one['verdict']}\nclose" if one.get("close") else one["verdict"]
        if (so_far := one.get("short_verdict")) is not None:
            verdict += f"\n{so_far}\nat {tokens_in_words('short')}"
        cells = [verdict, *_figures(one)]
        if is_narrow():  # too narrow for all columns: where it was judged goes below the interval
            cells = [*cells[:2], f"{cells[2]}\n{', '.join(cell for cell in cells[4:6] if cell)}"]
        shown.add_row(*entry(one["claim"], one["sentence"]), *cells)
    console().print(shown)
    counts = counted([one["verdict"] for one in claims], [one.get("short_verdict") for one in claims])
    say(f"\n{len(claims)} claim{'s' if len(claims) > 1 else ''}: {counts}.")
    say(
        "Effects are differences paired by seed, in the measure of the claim; docs/evidence.md has all of "
        "them."
    )
    if any(one.get("close") for one in claims):
        say("Close: intervals wider or narrower by a tenth would give another verdict.")
    say("somelab evidence CLAIM --plan shows the cost of a run; somelab evidence CLAIM runs it.")


LISTED = ("verdict", "effect", "95 % interval", "seeds", "scale", "length", "tuned", "date")


def _signed(value: float) -> str:
    """Nats and shares to four digits; numbers of weights in thousands."""
    if abs(value) >= 1000:
        return f"{value / 1000:+,.0f} k"
    return f"{value:+.{4 if abs(value) < 10 else 2}f}"  # of one width, so that names keep their place


def _figures(one: Mapping[str, Any]) -> list[str]:
    from somelab.experiments.ledger.listing import thousands_in_words

    if one["effect"] is None:
        return [""] * (len(LISTED) - 1)
    interval = "one seed" if one["low"] is None else f"{_signed(one['low'])} to {_signed(one['high'])}"
    place = [
        one["scale"],
        f"{thousands_in_words(one['tokens'])} tokens",
        "yes" if one["tuned"] else "no",
        one["date"],
    ]
    return [_signed(one["effect"]), interval, str(one["seeds"]), *place]


def _plan(ledger: Ledger, as_json: bool) -> None:
    from somelab.cli.terminal import console, entry, headings, print_json, table
    from somelab.experiments.ledger.listing import plan_records
    from somelab.experiments.runner.drive import processes_and_threads
    from somelab.training.callbacks.views import duration

    rows, cost = plan_records(ledger), ledger.cost(ledger.claims)
    workers, _ = processes_and_threads(None)
    if as_json:
        left = {"runs": cost.num_runs, "finished": cost.num_finished, "core_seconds_left": cost.seconds_left}
        print_json({"claims": rows, **left})
        return
    names = headings("claim", "statement")
    shown = table(
        *names, "runs", "core-min left", "verdict", numbers=("runs", "core-min left"), wrapped=names
    )
    for row in rows:
        runs = f"{row['finished']}/{row['runs']}"
        shown.add_row(
            *entry(row["claim"], row["sentence"]), runs, f"{row['core_minutes_left']:.0f}", row["verdict"]
        )
    console().print(shown)
    print(
        "\n"
        f"{len(rows)} claim{'s' if len(rows) > 1 else ''} at {ledger.scale} scale, {ledger.length} runs, "
        f"{len(ledger.seeds)} seeds: {cost.num_runs} judged runs of shared arms, {cost.num_finished} "
        "finished.\n"
        f"With tuning the whole takes about {duration(cost.seconds)} of one core; what is left "
        f"{duration(cost.seconds_left)}, on the {workers} cores here about "
        f"{duration(cost.seconds_left / workers)}."
    )
