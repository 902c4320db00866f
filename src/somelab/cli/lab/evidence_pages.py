"""What `somelab evidence` writes: the ledger's page, the frontier's, their figures, and the record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.cli.lab.evidence import Arguments
    from somelab.experiments.claims import Claim
    from somelab.experiments.claims.shell import LedgerLength, LedgerScale
    from somelab.experiments.ledger.frontier import Point
    from somelab.experiments.ledger.records import Records
    from somelab.experiments.ledger.store import Ledger


def check_texts(ledger: Ledger, known: Records, arguments: Arguments) -> None:
    """Refuse to put runs on another text into the record of the package: its verdicts would be lost."""
    from somelab.experiments.ledger import records

    if record_file(arguments) != records.FILE:
        return
    for name, text in ledger.texts.items():
        if known.texts.get(name, text) != text:
            remedy = f"name that text with --{name}, or a page of its own with --write FILE"
            raise ConfigError(name, text, f"the package's record is of {known.texts[name]}", remedy)


def run_frontier(arguments: Arguments, known: Records) -> int:
    """Tune and train the blocks of the frontier, or time their steps, and write its page."""
    from somelab.experiments.ledger import frontier, records

    kept = record_file(arguments)
    if arguments.time:
        from somelab.experiments.ledger.store import DEFAULT_DATA
        from somelab.experiments.ledger.texts import stored_data
        from somelab.training.machine.process import prepare_process

        prepare_process()
        data = arguments.data or stored_data(arguments.out) or DEFAULT_DATA
        known = known.with_times(arguments.scale, frontier.measure_times(arguments.scale, data, print))
        records.write(known, kept)

    if not arguments.report and not arguments.time:
        from somelab.cli.summary import progress_printer
        from somelab.experiments.runner.plan import seeds_of

        seeds = seeds_of(arguments.seeds)
        running = _frontier_ledger(arguments, known, arguments.scale, arguments.length, seeds)
        check_texts(running, known, arguments)
        running.run(minutes=arguments.budget, num_workers=arguments.workers, report=progress_printer())
        known = known.with_runs(running.new_records()).with_curves(running.rates.new_records())
        records.write(known, kept)
    if arguments.json:
        from somelab.cli.terminal import print_json

        print_json([point.record() for point in _points(arguments, known, arguments.scale, arguments.length)])
        return 0
    print(f"page: {_write_frontier(arguments, known, arguments.scale)}")
    return 0


def _frontier_ledger(
    arguments: Arguments, known: Records, scale: LedgerScale, length: LedgerLength, seeds: tuple[int, ...]
) -> Ledger:
    from somelab.experiments.ledger import frontier
    from somelab.experiments.ledger.store import Ledger

    texts = (arguments.data, arguments.shift)
    return Ledger(arguments.out, [], scale, seeds, *texts, length, known, frontier.arms())


def _points(
    arguments: Arguments, known: Records, scale: LedgerScale, length: LedgerLength
) -> Sequence[Point]:
    """Of the frontier, with all seeds that blocks have run with: their intervals use them."""
    from somelab.experiments.ledger import frontier
    from somelab.experiments.ledger.texts import stored_seeds

    seeds = stored_seeds(arguments.out, scale, arguments.seeds, known)
    ledger = _frontier_ledger(arguments, known, scale, length, seeds)
    return frontier.points(ledger, known.times.get(scale, {}))


def _write_frontier(arguments: Arguments, known: Records, scale: LedgerScale) -> Path:
    """The page of both lengths of training, whichever was run now, and a figure of each."""
    from somelab.disk import atomic
    from somelab.experiments.ledger.frontier_page import Part, draw, page
    from somelab.experiments.ledger.store import LENGTHS
    from somelab.view.figures.style import rendered, styled

    target = page_file(arguments).with_name("frontier.md")
    images = Path("images" if target.parent.name == "docs" else ".")
    with atomic.explained(target):
        (target.parent / images).mkdir(parents=True, exist_ok=True)
    parts: list[Part] = []
    for length in LENGTHS:
        if points := _points(arguments, known, scale, length):
            image = images / f"frontier-{scale}-{length}.svg"
            with styled():
                atomic.write_bytes(target.parent / image, rendered(draw(points), "svg"))
            parts.append(Part(scale, length, points, str(image), known.claims))
    atomic.write_text(target, page(scale, parts))
    return target


def page_file(arguments: Arguments) -> Path:
    return arguments.write or (Path("docs/evidence.md") if _in_checkout() else arguments.out / "evidence.md")


def record_file(arguments: Arguments) -> Path:
    from somelab.experiments.ledger import records

    if arguments.record is not None:
        return arguments.record
    return (
        records.FILE
        if arguments.write is None and _in_checkout()
        else page_file(arguments).with_suffix(".json")
    )


def write_pages(arguments: Arguments, known: Records) -> Path:
    """The page and the record have all claims at all scales and lengths, whichever were asked for now."""
    from somelab.disk import atomic
    from somelab.experiments.claims import CLAIMS
    from somelab.experiments.ledger import records
    from somelab.experiments.ledger.listing import updated
    from somelab.experiments.ledger.page import page

    ledgers = everywhere(arguments, [*CLAIMS.values()], known)
    target = page_file(arguments)
    with atomic.explained(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    found = updated(known, ledgers)
    records.write(found, record_file(arguments))
    images = {(ledger.scale, ledger.length): _draw(ledger, found, target.parent) for ledger in ledgers}
    atomic.write_text(target, page(ledgers, images))
    if record_file(arguments) == records.FILE and _can_draw():
        # The frontier in the documentation has the same runs.
        _write_frontier(arguments, found, "micro")
    return target


def _draw(ledger: Ledger, found: Records, folder: Path) -> list[str]:
    """The figures of one scale and length, as the page links to them; none where matplotlib is not
    installed."""
    from somelab.disk import atomic
    from somelab.experiments.ledger import drawings
    from somelab.experiments.ledger.listing import tokens_in_words

    if not _can_draw():
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


def everywhere(arguments: Arguments, claims: Sequence[Claim], known: Records) -> Sequence[Ledger]:
    """These claims at every scale and length, with all seeds that the store and the record have."""
    from somelab.experiments.ledger.store import LENGTHS, SCALES, Ledger
    from somelab.experiments.ledger.texts import stored_seeds

    def ledger(scale: LedgerScale, length: LedgerLength) -> Ledger:
        seeds = stored_seeds(arguments.out, scale, arguments.seeds, known)
        return Ledger(arguments.out, claims, scale, seeds, arguments.data, arguments.shift, length, known)

    return [ledger(scale, length) for scale in SCALES for length in LENGTHS]


def _can_draw() -> bool:
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def _in_checkout() -> bool:
    return Path("src/somelab/experiments").is_dir() and Path("docs").is_dir()
