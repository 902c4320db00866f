"""`somelab evidence`: every claim as an experiment with a verdict, an interval and the command that repeats
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.experiments.claims import Claim
    from somelab.experiments.claims.shell import LedgerLength, LedgerScale
    from somelab.experiments.ledger.frontier import Point
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
    claims = [] if of_streams and not named else claims_named(named)
    if arguments.frontier:
        return _frontier(arguments, known)
    if arguments.list and not arguments.out.exists():  # the record is enough, without any run
        from somelab.experiments.ledger.listing import listed

        _list(arguments, [*listed(claims, known), *_streams(arguments, of_streams)])
        return 0
    if arguments.list:
        from somelab.experiments.ledger.listing import claim_records

        found = claim_records(_everywhere(arguments, claims, known)) if claims else []
        _list(arguments, [*found, *_streams(arguments, of_streams)])
        return 0
    if arguments.verdict is not None:
        claims = _with_verdict(arguments, claims, known)
        if not claims:
            print("[]" if arguments.json else _none_left(arguments))
            return 0
    return _run(arguments, claims, known)


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
    interrupted = failed = False
    if not arguments.report:
        from somelab.cli.summary import progress_printer

        driven = ledger.run(
            minutes=arguments.budget, num_workers=arguments.workers, report=progress_printer()
        )
        interrupted, failed = driven.interrupted and arguments.budget is None, bool(driven.failed)
    target = _write(arguments, known)
    if arguments.json:
        print_json(claim_records([ledger]))
    else:
        _print(ledger)
        print(f"\npage: {target}")
    return 130 if interrupted else 1 if failed else 0


def _frontier(arguments: Arguments, known: Records) -> int:
    """Tune and train the blocks of the frontier, or time their steps, and write its page."""
    from somelab.experiments.ledger import frontier, records
    from somelab.experiments.ledger.store import LENGTHS, Ledger
    from somelab.experiments.ledger.texts import stored_seeds

    kept = _record_file(arguments, _page_file(arguments))
    if arguments.time:
        from somelab.experiments.ledger.store import DEFAULT_DATA
        from somelab.experiments.ledger.texts import stored_data
        from somelab.training.machine.process import prepare_process

        prepare_process()
        data = arguments.data or stored_data(arguments.out) or DEFAULT_DATA
        known = known.with_times(arguments.scale, frontier.measure_times(arguments.scale, data, print))
        records.write(known, kept)

    def ledger_of(seeds: tuple[int, ...], length: LedgerLength) -> Ledger:
        texts = (arguments.data, arguments.shift)
        return Ledger(arguments.out, [], arguments.scale, seeds, *texts, length, known, frontier.arms())

    if not arguments.report and not arguments.time:
        from somelab.cli.summary import progress_printer
        from somelab.experiments.runner.plan import seeds_of

        running = ledger_of(seeds_of(arguments.seeds), arguments.length)
        running.run(minutes=arguments.budget, num_workers=arguments.workers, report=progress_printer())
        known = known.with_runs(running.new_records()).with_curves(running.rates.new_records())
        records.write(known, kept)
    times = known.times.get(arguments.scale, {})
    # Some blocks have run with more seeds than were asked for now: their intervals use them.
    seeds = stored_seeds(arguments.out, arguments.scale, arguments.seeds, known)
    if arguments.json:
        from somelab.cli.terminal import print_json

        points = frontier.points(ledger_of(seeds, arguments.length), times)
        print_json([point.record() for point in points])
        return 0
    found: dict[LedgerLength, Sequence[Point]] = {
        length: frontier.points(ledger_of(seeds, length), times) for length in LENGTHS
    }
    print(f"page: {_write_frontier(arguments, found, known)}")
    return 0


def _write_frontier(
    arguments: Arguments, found: Mapping[LedgerLength, Sequence[Point]], known: Records
) -> Path:
    """The page of both lengths of training, whichever was run now, and a figure of each."""
    from somelab.disk import atomic
    from somelab.experiments.ledger.frontier_page import Part, draw, page
    from somelab.view.figures.style import rendered, styled

    target = _page_file(arguments).with_name("frontier.md")
    images = Path("images" if target.parent.name == "docs" else ".")
    with atomic.explained(target):
        (target.parent / images).mkdir(parents=True, exist_ok=True)
    parts: list[Part] = []
    for length, points in found.items():
        if points:
            image = images / f"frontier-{arguments.scale}-{length}.svg"
            with styled():
                atomic.write_bytes(target.parent / image, rendered(draw(points), "svg"))
            parts.append(Part(arguments.scale, length, points, str(image), known.claims))
    atomic.write_text(target, page(arguments.scale, parts))
    return target


def _page_file(arguments: Arguments) -> Path:
    return arguments.write or (Path("docs/evidence.md") if _in_checkout() else arguments.out / "evidence.md")


def _record_file(arguments: Arguments, page: Path) -> Path:
    from somelab.experiments.ledger import records

    if arguments.record is not None:
        return arguments.record
    return records.FILE if arguments.write is None and _in_checkout() else page.with_suffix(".json")


def _write(arguments: Arguments, known: Records) -> Path:
    """The page and the record have all claims at all scales and lengths, whichever were asked for now."""
    from somelab.disk import atomic
    from somelab.experiments.claims import CLAIMS
    from somelab.experiments.ledger import records
    from somelab.experiments.ledger.listing import updated
    from somelab.experiments.ledger.page import page

    ledgers = _everywhere(arguments, [*CLAIMS.values()], known)
    target = _page_file(arguments)
    with atomic.explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    found = updated(known, ledgers)
    records.write(found, _record_file(arguments, target))
    images = {(ledger.scale, ledger.length): _draw(ledger, found, target.parent) for ledger in ledgers}
    atomic.write_text(target, page(ledgers, images))
    return target


def _draw(ledger: Ledger, found: Records, folder: Path) -> list[str]:
    """The figures of one scale and length, as the page links to them; none where matplotlib is not
    installed."""
    from importlib.util import find_spec

    from somelab.disk import atomic
    from somelab.experiments.ledger import drawings
    from somelab.experiments.ledger.listing import tokens_in_words

    if find_spec("matplotlib") is None:
        return []
    from somelab.view.figures.style import rendered, styled

    name, title = (
        f"{ledger.scale}-{ledger.length}",
        f"{ledger.scale}, {tokens_in_words(ledger.length)} tokens",
    )
    rates = {arm: rate for arm in ledger.arms if (rate := ledger.rates.rate(arm)) is not None}
    images: list[str] = []
    with styled():
        made = {
            f"images/rates-{name}.svg": drawings.rate_figure(
                drawings.headline_curves(ledger.rates.curves), title
            ),
            f"images/learning-{name}.svg": drawings.learning_figure(
                found, ledger.scale, ledger.length, rates, title
            ),
        }
        for path, figure in made.items():
            if figure is not None:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                atomic.write_bytes(folder / path, rendered(figure, "svg"))
                images.append(path)
    return images


def _with_verdict(arguments: Arguments, claims: Sequence[Claim], known: Records) -> Sequence[Claim]:
    from somelab.experiments.ledger.listing import by_claim
    from somelab.experiments.ledger.verdict import headline

    results = by_claim(_everywhere(arguments, claims, known))
    return [claim for claim in claims if headline(results[claim.id]).verdict == arguments.verdict]


def _none_left(arguments: Arguments) -> str:
    return f"{arguments.out}: none of the claims asked for is {arguments.verdict}"


def _everywhere(arguments: Arguments, claims: Sequence[Claim], known: Records) -> Sequence[Ledger]:
    """These claims at every scale and length, with all seeds that the store and the record have."""
    from somelab.experiments.ledger.store import LENGTHS, SCALES, Ledger
    from somelab.experiments.ledger.texts import stored_seeds

    def ledger(scale: LedgerScale, length: LedgerLength) -> Ledger:
        seeds = stored_seeds(arguments.out, scale, arguments.seeds, known)
        return Ledger(arguments.out, claims, scale, seeds, arguments.data, arguments.shift, length, known)

    return [ledger(scale, length) for scale in SCALES for length in LENGTHS]


def _in_checkout() -> bool:
    return Path("src/somelab/experiments").is_dir() and Path("docs").is_dir()


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
        verdict = one["verdict"]
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
