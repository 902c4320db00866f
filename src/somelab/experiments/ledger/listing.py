"""The ledger for programs and for a terminal: a flat record per claim, and the cost of running it. Does not
import torch, so that what is on record is listed at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from somelab.analysis.intervals import Interval
from somelab.experiments.claims import TOPICS, Claim
from somelab.experiments.claims.shell import LedgerLength, num_tokens
from somelab.experiments.ledger.records import Records
from somelab.experiments.ledger.verdict import ClaimResult, Verdict, deciding_test, headline, judge

if TYPE_CHECKING:
    from somelab.experiments.ledger.store import Ledger

TOPIC_OF = {claim.id: topic for topic, claims in TOPICS.items() for claim in claims}


def by_claim(ledgers: Sequence[Ledger]) -> dict[str, list[ClaimResult]]:
    """Each claim's results, by scale and length."""
    results: dict[str, list[ClaimResult]] = {}
    for ledger in ledgers:
        for result in ledger.results():
            results.setdefault(result.claim.id, []).append(result)
    order = [claim.id for claims in TOPICS.values() for claim in claims if claim.id in results]
    return {name: results[name] for name in order}


def claim_records(ledgers: Sequence[Ledger]) -> list[dict[str, Any]]:
    """Every claim with its main verdict, and its results at every scale and length that was run."""
    return [claim_record(found, ledgers) for found in by_claim(ledgers).values()]


def listed(claims: Sequence[Claim], records: Records) -> list[dict[str, Any]]:
    """What is on record of these claims; one that was added since is not run."""
    known = {one["claim"]: one for one in records.claims}
    return [known.get(claim.id) or claim_record([judge(claim, {}, "micro")], []) for claim in claims]


def updated(records: Records, ledgers: Sequence[Ledger]) -> Records:
    """The records with what these ledgers' stores add to them. `ledgers`: of all claims, at every scale and
    length."""
    runs = [run for ledger in ledgers for run in ledger.new_records()]
    curves = [curve for ledger in ledgers for curve in ledger.rates.new_records()]
    found = records.with_runs(runs).with_curves(curves).with_claims(claim_records(ledgers))
    return found.with_texts(ledgers[0].texts)


def claim_record(
    found: Sequence[ClaimResult], ledgers: Sequence[Ledger], topic: str | None = None
) -> dict[str, Any]:
    """A claim with its main verdict. `topic`: of a claim that is not in the ledger's own list."""
    best = headline(found)
    claim = best.claim
    dates = [date for ledger in ledgers if claim in ledger.claims for date in ledger.dates(claim)]
    return {
        "claim": claim.id,
        "topic": topic or TOPIC_OF[claim.id],
        "sentence": claim.sentence,
        "source": claim.source,
        "caveat": claim.caveat,
        **_result_record(best),
        "short_verdict": best.short_verdict,
        "date": max(dates, default=""),
        "results": [_result_record(result) for result in found if result.verdict != "not run"],
    }


def _result_record(result: ClaimResult) -> dict[str, Any]:
    deciding = deciding_test(result)
    return {
        "verdict": result.verdict,
        "close": result.is_close,
        "measured": deciding.test.label,
        **_effect(deciding.effect),
        "seeds": result.num_seeds,
        "scale": result.scale,
        "length": result.length,
        "tokens": num_tokens(result.length),
        "tuned": result.is_tuned,
        "rates": dict(result.rates) if result.is_tuned else {},
        "note": result.note,
        "tests": [
            {
                "measured": one.test.label,
                "verdict": one.verdict,
                **_effect(one.effect),
                "alone": _bounds(one.alone),
                "seeds": list(one.seeds),
            }
            for one in result.tests
        ],
    }


def _effect(effect: Interval | None) -> dict[str, float | None]:
    low, high = _bounds(effect)
    return {"effect": None if effect is None else round(effect.mean, 6), "low": low, "high": high}


def _bounds(effect: Interval | None) -> list[float | None]:
    bounds = (math.inf, math.inf) if effect is None else (effect.low, effect.high)
    return [round(bound, 6) if math.isfinite(bound) else None for bound in bounds]


def tokens_in_words(length: LedgerLength) -> str:
    return thousands_in_words(num_tokens(length))


def thousands_in_words(number: int) -> str:
    """4,096,000 as 4.1 M, 49,664 as 50 k."""
    return f"{number / 1e6:.1f} M" if number >= 1e6 else f"{number / 1e3:.0f} k"


def counted(verdicts: Sequence[str], short_verdicts: Sequence[str | None]) -> str:
    """How many claims have each verdict, in words."""
    waiting = sum(verdict is not None for verdict in short_verdicts)
    open_end = f" ({waiting} decided after {tokens_in_words('short')} tokens, to be run for longer)"
    rest = {"undecided": open_end if waiting else ""}
    found = [verdict for verdict in get_args(Verdict) if verdict in verdicts]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}{rest.get(verdict, '')}" for verdict in found)


def plan_records(ledger: Ledger) -> list[Mapping[str, Any]]:
    """Every claim with its arms, what is done, and the cost of the rest."""
    rows: list[Mapping[str, Any]] = []
    results = {result.claim.id: result for result in ledger.results()}
    for claim in ledger.claims:
        cost = ledger.cost([claim])
        rows.append(
            {
                "claim": claim.id,
                "sentence": claim.sentence,
                "arms": list(claim.arms),
                "runs": cost.num_runs,
                "finished": cost.num_finished,
                "core_minutes_left": round(cost.seconds_left / 60, 1),
                "verdict": results[claim.id].verdict,
            }
        )
    return rows
