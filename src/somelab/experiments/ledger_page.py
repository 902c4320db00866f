"""The ledger as a page: docs/evidence.md, written from run folders alone, with the command that repeats each line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from somelab.analysis.intervals import Interval
from somelab.experiments.claims import TOPICS, Claim, Test
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.ledger import USUAL_SEEDS, Ledger, num_tokens
from somelab.experiments.plan import text_name
from somelab.experiments.table import interval_record
from somelab.experiments.verdict import ClaimResult, TestResult, headline

RULES = {
    "below": "is to be below 0, by {} or more",
    "above": "is to be above 0, by {} or more",
    "within": "is to be within ± {}",
    "at most": "is to be at most {}",
    "at least": "is to be at least {}",
}
MARKS = {"supported": "**supported**", "refuted": "**refuted**", "undecided": "undecided", "not run": "not run"}


def page(ledgers: Sequence[Ledger]) -> str:
    """The whole page. `ledgers`: one a scale, smallest first, all of the same claims."""
    results = by_claim(ledgers)
    lines = [*_head(ledgers, [headline(found) for found in results.values()])]
    for topic, claims in TOPICS.items():
        found = [results[claim.id] for claim in claims if claim.id in results]
        if found:
            lines += ["", f"## {topic}"]
            lines += [line for one in found for line in _section(one, ledgers)]
    return "\n".join(lines) + "\n"


def by_claim(ledgers: Sequence[Ledger]) -> dict[str, list[ClaimResult]]:
    """Each claim's results, a scale after the other."""
    results: dict[str, list[ClaimResult]] = {}
    for ledger in ledgers:
        for result in ledger.results():
            results.setdefault(result.claim.id, []).append(result)
    return results


def records(ledgers: Sequence[Ledger]) -> list[dict[str, Any]]:
    """The ledger for programs."""
    return [
        {
            "id": found[0].claim.id,
            "sentence": found[0].claim.sentence,
            "source": found[0].claim.source,
            "verdict": headline(found).verdict,
            "scale": headline(found).scale,
            "caveat": found[0].claim.caveat,
            "arms": list(found[0].claim.arms),
            "results": [_record(result) for result in found],
        }
        for found in by_claim(ledgers).values()
    ]


def _record(result: ClaimResult) -> dict[str, Any]:
    return {
        "scale": result.scale,
        "verdict": result.verdict,
        "note": result.note,
        "tests": [
            {
                "says": one.test.says,
                "measure": one.test.measure,
                "contrast": dict(one.test.contrast),
                "rule": one.test.rule,
                "smallest": one.test.smallest,
                "premise": one.test.premise,
                "verdict": one.verdict,
                "effect": None if one.effect is None else interval_record(one.effect),
                "seeds": list(one.seeds),
            }
            for one in result.tests
        ],
    }


def _head(ledgers: Sequence[Ledger], headlines: Sequence[ClaimResult]) -> list[str]:
    counts = {verdict: sum(result.verdict == verdict for result in headlines) for verdict in MARKS}
    lines = [
        "# Evidence: what is true of the seeds' claims, and of adaptation",
        "",
        "Written by `somelab evidence` from run folders; no verdict is typed in. [How it works](guides/evidence.md).",
        "",
        f"{len(headlines)} claims: {', '.join(f'{number} {verdict}' for verdict, number in counts.items() if number)}.",
        "",
        *_scale_lines(ledgers),
        "An effect is a difference taken seed by seed, with its 95 % interval (Student's t). *Supported*: the interval excludes "
        "zero on the claimed side, and the mean reaches the smallest effect that matters. *Refuted*: the interval excludes an "
        "effect of that size. *Undecided*: neither. Of many intervals at 95 %, one in twenty misses: a verdict is evidence, not "
        "proof, and holds for its scale.",
        "",
        "| claim | verdict | what was measured | effect | 95 % interval | seeds | scale |",
        "|---|---|---|---:|---|---:|---|",
    ]
    for result in headlines:
        title = f"[{result.claim.id}](#{result.claim.id})"
        seeds, scale = (str(result.num_seeds), result.scale) if result.num_seeds else ("", "")
        lines.append(f"| {title} | {MARKS[result.verdict]} | {' | '.join(telling_figures(result))} | {seeds} | {scale} |")
    return lines


def telling_figures(result: ClaimResult) -> tuple[str, str, str]:
    """What was measured, effect and interval of the test that decided, a premise last; empty where nothing was run."""
    own = [one for one in result.tests if not one.test.premise] or list(result.tests)
    telling = next((one for one in own if one.verdict == result.verdict), own[0])
    return ("", "", "") if telling.effect is None else (telling.test.says, *_figures(telling.effect))


def _scale_lines(ledgers: Sequence[Ledger]) -> list[str]:
    """What was trained at each scale, and how long it took."""
    lines: list[str] = []
    for ledger in ledgers:
        cost = ledger.cost(ledger.claims)
        if not cost.num_finished:
            continue
        base = ARMS["base"].config(ledger.scale, "builtin")
        model, experts = base.model, base.experts
        size = f"D {model.d_model}, L {model.num_layers}, E {experts.num_experts}, F {experts.d_ffn}, K {experts.top_k}"
        hours = (cost.seconds - cost.seconds_left) / 3600
        lines.append(
            f"- `{ledger.scale}`: a1 at that scale ({size}, {num_tokens(ledger.scale):,} tokens of packed text, {model.seq_len} a "
            f"sequence); {cost.num_finished} runs, {hours:.1f} core-hours."
        )
    return [*lines, ""] if lines else []


def _section(found: Sequence[ClaimResult], ledgers: Sequence[Ledger]) -> list[str]:
    claim, best = found[0].claim, headline(list(found))
    lines = ["", f"### {claim.id}", f"*{claim.sentence}.* ({claim.source})", "", f"Verdict: {MARKS[best.verdict]}."]
    shown = [result for result in found if result.verdict != "not run"]
    if shown:
        lines += ["", "| test | effect | 95 % interval | seeds | scale | |", "|---|---:|---|---:|---|---|"]
        lines += [_test_line(one, result.scale) for result in shown for one in result.tests]
    lines += ["", *(f"- {result.scale}: {result.note}." for result in shown if result.note)]
    for test in claim.tests:
        lines.append(f"- {'Premise' if test.premise else 'Rule'}: {test.says} {_rule(test)}.")
    lines.append(f"- Arms: {', '.join(f'`{arm}`' for arm in claim.arms)}.")
    ledger = next(one for one in ledgers if one.scale == best.scale)
    if claim.reads_shift:
        lines.append(f"- New text: `{text_name(ledger.shift)}`; the old one is what the arms were trained on.")
    if claim.caveat:
        lines.append(f"- Caveat: {claim.caveat}")
    lines.append(f"- `{command(ledger, claim, best.num_seeds or USUAL_SEEDS)}`")
    return lines


def command(ledger: Ledger, claim: Claim, num_seeds: int) -> str:
    """What repeats a line of the ledger."""
    shift = f" --shift {text_name(ledger.shift)}" if claim.reads_shift else ""
    return f"somelab evidence {claim.id} --scale {ledger.scale} --seeds {num_seeds} --data {Path(ledger.data).name}{shift}"


def _test_line(one: TestResult, scale: str) -> str:
    return f"| {one.test.says} | {' | '.join(_figures(one.effect))} | {len(one.seeds)} | {scale} | {MARKS[one.verdict]} |"


def _rule(test: Test) -> str:
    return RULES[test.rule].format(f"{test.smallest:g}")


def _figures(effect: Interval | None) -> tuple[str, str]:
    if effect is None:
        return "", ""
    return f"{effect.mean:+.4f}", f"{effect.low:+.4f} to {effect.high:+.4f}" if math.isfinite(effect.low) else "one seed"


def listing(ledger: Ledger) -> list[Mapping[str, Any]]:
    """Every claim with its arms, what is done, and what the rest will take."""
    rows: list[Mapping[str, Any]] = []
    results = {result.claim.id: result for result in ledger.results()}
    for claim in ledger.claims:
        cost = ledger.cost([claim])
        rows.append(
            {
                "id": claim.id,
                "sentence": claim.sentence,
                "arms": list(claim.arms),
                "runs": cost.num_runs,
                "finished": cost.num_finished,
                "core_minutes_left": round(cost.seconds_left / 60, 1),
                "verdict": results[claim.id].verdict,
            }
        )
    return rows
