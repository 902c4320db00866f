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
from somelab.experiments.streams.claims import CLAIMS, STREAMS, STUDIES, TOPIC, study_of

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


def rates_of(stream: str, path: Path | None = None) -> dict[str, float]:
    """The learning rates that searches have found for a stream, of bases and learners."""
    study = read(path).get(stream)
    if study is None:
        raise ConfigError("--recorded-rates", stream, "has no study on record", "use --tune instead")
    found = {**study["bases"], **study["learners"]}
    return {name: one["rate"] for name, one in found.items() if one["rate"] is not None}


def record(
    plan: Plan,
    rows: Sequence[Row],
    tokens: int,
    bases: Mapping[str, Any],
    path: Path | None = None,
    *,
    label: str | None = None,
) -> None:
    """Put a study on record. Learners of an earlier study of the same stream stay if its bases had the same
    learning rates; else it is replaced. `label`: record it beside the stream's own study, as STREAM-LABEL."""
    path = path or FILE
    earlier, stream = read(path), stream_of(plan.title)
    name = study_name(stream, label)
    made = _study(plan, rows, tokens, bases, earlier.get(stream, {}))
    studies = {**earlier, name: _merged(earlier.get(name), made)}
    content = {"format": FORMAT, "studies": {name: studies[name] for name in STUDIES if name in studies}}
    atomic.write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def study_name(stream: str, label: str | None) -> str:
    name = stream if label is None else f"{stream}-{label}"
    if name not in STUDIES:
        raise ConfigError("--label", label, f"is no study of {stream}", f"studies: {', '.join(STUDIES)}")
    return name


def _merged(earlier: Study | None, made: dict[str, Any]) -> dict[str, Any]:
    """The new study with the learners that only the earlier one has, where both start from the same bases."""
    if earlier is None or any(earlier[name] != made[name] for name in ("scale", "tokens_per_experience")):
        return made
    shared = [name for name in made["bases"] if name in earlier["bases"]]
    if any(earlier["bases"][name]["rate"] != made["bases"][name]["rate"] for name in shared):
        return made
    both = {part: {**earlier[part], **made[part]} for part in ("bases", "learners")}
    return {**made, **both}


def _study(
    plan: Plan, rows: Sequence[Row], tokens: int, bases: Mapping[str, Any], known: Study
) -> dict[str, Any]:
    """`known`: the study on record whose rates may have been used."""
    names = [measure.name for measure in plan.measures.all]
    return {
        "scale": plan.scale,
        "tokens_per_experience": tokens,
        "date": date.today().isoformat(),
        "bases": {
            name: _known({"rate": one["chosen"], "standing": one["standing"]}, known, "bases", name)
            for name, one in bases.items()
        },
        "learners": {
            row.arm.name: {
                **_rate(row, known),
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


def _rate(row: Row, known: Study) -> dict[str, Any]:
    """The learning rate of a learner, and how it was found."""
    if row.tuning:
        return {
            "rate": row.arm.config.train.learning_rate,
            "standing": row.tuning.standing,
            "tuning_runs": row.tuning.num_runs,
            "curve": [[value, round(loss, 5)] for value, loss in row.tuning.points],
        }
    used = {"rate": row.arm.config.train.learning_rate, "standing": "untuned"}
    found = _known(used, known, "learners", row.arm.name)
    if found["standing"] == "untuned":
        found = {**found, "rate": None}
    return {"tuning_runs": 0, "curve": [], **found}


def _known(one: dict[str, Any], known: Study, part: str, name: str) -> dict[str, Any]:
    """With the standing of the same rate on record."""
    earlier: Mapping[str, Any] = known.get(part, {}).get(name, {})
    if one["standing"] != "untuned" or earlier.get("rate") != one["rate"]:
        return one
    return {field: value for field, value in earlier.items() if field != "figures"}


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
        study = studies.get(study_of(result.claim), {})
        place = {
            "tokens": study.get("tokens_per_experience", 0),
            "date": study.get("date", "") if result.verdict != "not run" else "",
        }
        one = claim_record([result], [], TOPIC)
        found.append({**one, **place, "results": [{**each, **place} for each in one["results"]]})
    return found
