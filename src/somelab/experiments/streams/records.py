"""The record of continual studies in the package (`results.json`), written by `somelab continual --record`,
and the verdicts that follow from it: computed from the figures each time, by the rules of the ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from somelab.disk import atomic
from somelab.errors import ConfigError, SomelabError
from somelab.experiments.claims.claim import Claim
from somelab.experiments.ledger.listing import claim_record
from somelab.experiments.ledger.records import rounded
from somelab.experiments.ledger.verdict import ClaimResult, judge
from somelab.experiments.streams.claims import CLAIMS, STREAMS, TOPIC

if TYPE_CHECKING:
    from somelab.experiments.runner.plan import Plan
    from somelab.experiments.sweeps.table import Row

FILE = Path(__file__).with_name("results.json")
FORMAT = 1
Study = Mapping[str, Any]


def read(path: Path | None = None) -> dict[str, Study]:
    """The studies on record by stream; none where there is no file."""
    path = path or FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        assert content["format"] == FORMAT
        return content["studies"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AssertionError) as error:
        raise SomelabError(
            f"{path}: cannot be read ({type(error).__name__}: {error}); install somelab again"
        ) from None


def stream_of(title: str) -> str:
    """The stream of the claims that a study has run."""
    for stream, experiences in STREAMS.items():
        if experiences == title:
            return stream
    raise ConfigError("--record", title, "is no stream of a claim", f"streams: {'; '.join(STREAMS.values())}")


def record(
    plan: Plan, rows: Sequence[Row], tokens: int, bases: Mapping[str, Any], path: Path | None = None
) -> None:
    """Put a study on record, in place of an earlier one of the same stream."""
    path = path or FILE
    studies = {**read(path), stream_of(plan.title): _study(plan, rows, tokens, bases)}
    content = {"format": FORMAT, "studies": {name: studies[name] for name in STREAMS if name in studies}}
    atomic.write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def _study(plan: Plan, rows: Sequence[Row], tokens: int, bases: Mapping[str, Any]) -> dict[str, Any]:
    names = [measure.name for measure in plan.measures.all]
    return {
        "scale": plan.scale,
        "tokens_per_experience": tokens,
        "date": date.today().isoformat(),
        "bases": {name: {"rate": one["chosen"], "standing": one["standing"]} for name, one in bases.items()},
        "learners": {
            row.arm.name: {
                "rate": row.arm.config.train.learning_rate if row.tuning else None,
                "standing": row.tuning.standing if row.tuning else "untuned",
                "tuning_runs": row.tuning.num_runs if row.tuning else 0,
                "curve": [[value, round(loss, 5)] for value, loss in row.tuning.points] if row.tuning else [],
                "figures": {
                    str(seed): rounded(
                        {name: row.values[name][place] for name in names if name in row.values}
                    )
                    for place, seed in enumerate(row.seeds)
                },
            }
            for row in rows
            if row.seeds
        },
    }


def results(studies: Mapping[str, Study]) -> list[ClaimResult]:
    """The verdict of every claim about streams."""
    figures: dict[str, dict[int, dict[str, float]]] = {}
    rates: dict[str, float | None] = {}
    untuned: dict[str, str] = {}
    for stream, study in studies.items():
        for learner, found in study["learners"].items():
            arm = f"{stream}/{learner}"
            figures[arm] = {int(seed): values for seed, values in found["figures"].items()}
            rates[arm] = found["rate"] if found["standing"] == "tuned" else None
            if found["standing"] != "tuned":
                untuned[arm] = f"the best learning rate of {learner} is {_standing(found['standing'])}"
        for base, found in study["bases"].items():
            if found["standing"] != "tuned":
                problem = f"the best learning rate of {base} is {_standing(found['standing'])}"
                untuned |= {f"{stream}/{learner}": problem for learner in study["learners"]}
    scale = next((study["scale"] for study in studies.values()), "micro")
    return [judge(claim, figures, scale, "short", rates, untuned) for claim in CLAIMS.values()]


def _standing(standing: str) -> str:
    return "at the edge of its grid" if standing == "at the edge" else f"not known ({standing})"


def claim_records(claims: Sequence[Claim] | None = None) -> list[dict[str, Any]]:
    """Every claim about streams as the ledger lists its own."""
    studies = read()
    wanted = {claim.id for claim in (CLAIMS.values() if claims is None else claims)}
    found: list[dict[str, Any]] = []
    for result in results(studies):
        if result.claim.id not in wanted:
            continue
        study = studies.get(result.claim.id.rpartition("-")[2], {})
        place = {
            "tokens": study.get("tokens_per_experience", 0),
            "date": study.get("date", "") if result.verdict != "not run" else "",
        }
        one = claim_record([result], [], TOPIC)
        found.append({**one, **place, "results": [{**each, **place} for each in one["results"]]})
    return found
