"""The ledger as a page, docs/evidence.md: written from run folders and the record, with the command that
repeats each line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap

from somelab.analysis.intervals import Interval
from somelab.experiments.claims import TOPICS, Claim, Test
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.ledger.listing import by_claim, counted, tokens_in_words
from somelab.experiments.ledger.store import USUAL_SEEDS, Ledger
from somelab.experiments.ledger.verdict import ClaimResult, TestResult, deciding_test, headline
from somelab.experiments.runner.plan import text_name
from somelab.experiments.tuning.curve import Curve

RULES = {
    "below": "must be below 0, by {} or more",
    "above": "must be above 0, by {} or more",
    "within": "is to be within ± {}",
    "at most": "is to be at most {}",
    "at least": "is to be at least {}",
}
MARKS = {
    "supported": "**supported**",
    "refuted": "**refuted**",
    "undecided": "undecided",
    "untuned": "untuned",
    "not run": "not run",
}
METHOD = """\
An effect is a difference paired by seed, with its 95 % interval: Student's t with a [pooled
variance](guides/evidence.md#how-wide-an-interval-is), since three seeds alone hardly tell how far runs lie
apart. *Supported*: the interval excludes zero on the claimed side, and the mean reaches the smallest effect
that matters. *Refuted*: the interval excludes an effect of that size. *Undecided*: neither. *Untuned*: an arm
has no learning rate that a search has found inside its grid, so there is no verdict. *Close*: intervals wider
or narrower by a tenth would give another verdict. Of many intervals at 95 %, one in twenty misses: a verdict
is evidence, not proof, and holds for its scale.

Every arm runs at its own best learning rate. The rate is searched per arm, scale and length of training, with
another random seed and on other stories ([how](guides/evidence.md)); [the curves](#learning-rates) are at the
end. Claims about quality are tested at two lengths, since an effect that shrinks with training is speed of
learning."""

WIDTH = 110


def page(ledgers: Sequence[Ledger], figures: Mapping[tuple[str, str], Sequence[str]] | None = None) -> str:
    """The whole page. `ledgers`: one a scale and length, smallest and shortest first, all of the same claims.

    `figures`: images by scale and length, as the page links to them."""
    results = by_claim(ledgers)
    lines = [*_head(ledgers, [headline(found) for found in results.values()])]
    for topic, claims in TOPICS.items():
        found = [results[claim.id] for claim in claims if claim.id in results]
        if found:
            lines += ["", f"## {topic}"]
            lines += [line for one in found for line in _section(one, ledgers)]
    return "\n".join(wrapped([*lines, *_rate_lines(ledgers, figures or {})])) + "\n"


def wrapped(lines: Sequence[str]) -> list[str]:
    """Prose in lines of at most 110 characters; tables, headings, images and commands stay as they are."""
    found: list[str] = []
    for line in "\n".join(lines).split("\n"):
        if len(line) <= WIDTH or line.startswith(("|", "#", "!", "`", "- `")):
            found.append(line)
        else:
            indent = "  " if line.startswith("- ") else ""
            found += wrap(
                line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
            )
    return found


def _head(ledgers: Sequence[Ledger], headlines: Sequence[ClaimResult]) -> list[str]:
    counts = counted([one.verdict for one in headlines], [one.short_verdict for one in headlines])
    lines = [
        "# Evidence: which claims hold at tuned learning rates",
        "",
        (
            "Written by `somelab evidence` from its runs; verdicts are computed. [How it "
            "works](guides/evidence.md)."
        ),
        "",
        f"{len(headlines)} claims: {counts}.",
        "",
        *_scale_lines(ledgers),
        METHOD,
        "",
        "| claim | verdict | what was measured | effect | 95 % interval | seeds | scale | tokens |",
        "|---|---|---|---:|---|---:|---|---:|",
    ]
    for result in headlines:
        title = f"[{result.claim.id}](#{result.claim.id})"
        place = (
            (str(result.num_seeds), result.scale, tokens_in_words(result.length))
            if result.num_seeds
            else ("", "", "")
        )
        short = f" ({result.short_verdict} after {tokens_in_words('short')})"
        so_far = "" if result.short_verdict is None else short
        cells = [title, f"{_mark(result)}{so_far}", *deciding_figures(result), *place]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _mark(result: ClaimResult) -> str:
    return MARKS[result.verdict] + (", close" if result.is_close else "")


def deciding_figures(result: ClaimResult) -> tuple[str, str, str]:
    """What was measured, effect and interval of the test that decided; empty if nothing was run."""
    deciding = deciding_test(result)
    return ("", "", "") if deciding.effect is None else (deciding.test.label, *_figures(deciding.effect))


def _scale_lines(ledgers: Sequence[Ledger]) -> list[str]:
    """What was trained at each scale and length, and how long it took."""
    lines: list[str] = []
    for ledger in ledgers:
        cost = ledger.cost(ledger.claims)
        if not cost.num_finished:
            continue
        base = ARMS["base"].config(ledger.scale, "builtin")
        model, experts = base.model, base.experts
        size = (
            f"D {model.d_model}, L {model.num_layers}, E {experts.num_experts}, F {experts.d_ffn}, K "
            f"{experts.top_k}"
        )
        hours = (cost.seconds - cost.seconds_left) / 3600
        tuning = sum(curve.num_runs for curve in ledger.rates.curves.values())
        lines.append(
            f"- `{ledger.scale}`, {tokens_in_words(ledger.length)} tokens of packed text, {model.seq_len} a "
            f"sequence (a1 at that scale: {size}): {cost.num_finished} judged runs, tuning runs worth "
            f"{tuning:.0f} whole ones, about {hours:.0f} core-hours.{_noise_words(ledger)}"
        )
    return [*lines, ""] if lines else []


def _noise_words(ledger: Ledger) -> str:
    """How far validation losses lie apart by the random seed alone."""
    noise = ledger.noise()
    known = {backbone: noise.of_kind((backbone, False), "val_loss") for backbone in ("published", "modern")}
    words = [
        f"{math.sqrt(one.variance):.4f} in the {backbone} backbone (worth {one.freedom:.0f} seeds)"
        for backbone, one in known.items()
        if one is not None
    ]
    return f" Standard deviation of the loss between seeds: {', '.join(words)}." if words else ""


def _section(found: Sequence[ClaimResult], ledgers: Sequence[Ledger]) -> list[str]:
    claim, best = found[0].claim, headline(list(found))
    lines = ["", f"### {claim.id}", f"*{claim.sentence}.* ({claim.source})", ""]
    lines.append(f"Verdict: {_mark(best)}{f' ({best.note})' if best.note else ''}.")
    shown = [result for result in found if result.verdict != "not run"]
    if shown:
        lines += [
            "",
            "| test | effect | 95 % interval | from its seeds alone | seeds | scale | tokens | |",
            "|---|---:|---|---|---:|---|---:|---|",
        ]
        lines += [_test_line(one, result) for result in shown for one in result.tests]
    lines.append("")
    lines += [
        f"- {_place(result)}: {result.note}." for result in shown if result.note and result.note != best.note
    ]
    lines += [
        f"- Learning rates at {_place(result)}: {_rates(result)}." for result in shown if result.is_tuned
    ]
    for test in claim.tests:
        lines.append(f"- {'Premise' if test.premise else 'Rule'}: {test.label} {_rule(test)}.")
    lines.append(f"- Arms: {', '.join(f'`{arm}`' for arm in claim.arms)}.")
    ledger = next(one for one in ledgers if (one.scale, one.length) == (best.scale, best.length))
    if claim.reads_shift:
        lines.append(
            f"- New text: `{text_name(ledger.shift)}`; the old one is what the arms were trained on."
        )
    if claim.caveat:
        lines.append(f"- Caveat: {claim.caveat}")
    lines.append(f"- `{command(ledger, claim, best.num_seeds or USUAL_SEEDS)}`")
    return lines


def command(ledger: Ledger, claim: Claim, num_seeds: int) -> str:
    """The command that repeats a line of the ledger."""
    shift = f" --shift {text_name(ledger.shift)}" if claim.reads_shift else ""
    length = f" --length {ledger.length}" if ledger.length != "short" else ""
    where = f"--scale {ledger.scale}{length} --seeds {num_seeds}"
    return f"somelab evidence {claim.id} {where} --data {Path(ledger.data).name}{shift}"


def _place(result: ClaimResult) -> str:
    return f"{result.scale}, {tokens_in_words(result.length)} tokens"


def _rates(result: ClaimResult) -> str:
    return ", ".join(f"`{arm}` {rate:g}" for arm, rate in result.rates.items() if rate is not None)


def _test_line(one: TestResult, result: ClaimResult) -> str:
    place = [str(len(one.seeds)), result.scale, tokens_in_words(result.length)]
    verdict = MARKS[one.verdict] if result.verdict != "untuned" else MARKS["untuned"]
    _, alone = _figures(one.alone)
    return f"| {' | '.join([one.test.label, *_figures(one.effect), alone, *place, verdict])} |"


def _rule(test: Test) -> str:
    return RULES[test.rule].format(f"{test.smallest:g}")


def _figures(effect: Interval | None) -> tuple[str, str]:
    if effect is None:
        return "", ""
    return f"{effect.mean:+.4f}", f"{effect.low:+.4f} to {effect.high:+.4f}" if math.isfinite(
        effect.low
    ) else "one seed"


def _rate_lines(ledgers: Sequence[Ledger], figures: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    """Every search: loss against learning rate."""
    lines: list[str] = []
    for ledger in ledgers:
        curves = [curve for curve in ledger.rates.curves.values() if curve.trials]
        if not curves:
            continue
        lines += ["", f"### {ledger.scale}, {tokens_in_words(ledger.length)} tokens", ""]
        for image in figures.get((ledger.scale, ledger.length), ()):
            lines += [f"![{_about(image)}]({image})", ""]
        lines += [
            "| arm | best rate | | runs | loss of the runs that ended, by rate |",
            "|---|---:|---|---:|---|",
        ]
        lines += [_curve_line(curve) for curve in sorted(curves, key=lambda curve: curve.arm)]
    if not lines:
        return []
    head = [
        "",
        "## Learning rates",
        "",
        (
            "Loss on the stories that were held out for tuning, in nats. A run that was stopped after its "
            "first quarter counts as a quarter, and has no loss here."
        ),
    ]
    return [*head, *lines]


def _about(image: str) -> str:
    """The alternative text of an image."""
    if "rates" in image:
        return "Loss against learning rate, one line per arm; the chosen rate is a filled dot"
    return "Validation loss of the main arms against tokens and against time"


def _curve_line(curve: Curve) -> str:
    best = curve.best
    losses = ", ".join(
        f"**{x:g}: {loss:.4f}**" if x == best else f"{x:g}: {loss:.4f}" for x, loss in curve.points
    )
    failed = ", ".join(f"{trial.value:g}: diverged" for trial in curve.trials.values() if trial.failed)
    points = ", ".join(part for part in (losses, failed) if part)
    return (
        f"| {curve.arm} | {'' if best is None else f'{best:g}'} | {curve.standing} | {curve.num_runs:.1f} | "
        f"{points} |"
    )
