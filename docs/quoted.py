"""Figures of the ledger that documents quote, written from its record: `python docs/quoted.py`.

A figure is the text of a link. Its definition, at the end of the document, says which figure it is:

    ... gains [0.018 (0.001 to 0.036)][moved] over keys that never move.

    [moved]: docs/evidence.md#modulated-credit-pays "gain after 1.0 M tokens"

`gain` is the effect with its sign turned, `difference` the effect as it is; `, test 2` names another test of
the claim, `at mini` (before it) the larger scale, and `val_loss of ARM after 1.0 M tokens` the mean loss of
an arm. So every figure leads to its
place in the ledger, and a test compares all of them with the record. Sentences that count verdicts follow,
too."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from somelab.experiments.ledger.records import Records, read

ROOT = Path(__file__).parents[1]
OF_THE_REPORTS = (
    "Width and depth",
    "The pool",
    "The router",
    "Knowledge Gravity",
    "Data",
    "Further claims of the authors",
)
"""Topics of the claims that the reports and papers make themselves."""

DEFINITION = re.compile(
    r"^\[(?P<label>[^\]]+)\]: [^#\s]+(?:#(?P<claim>\S+))?\s+"
    r'"(?P<kind>gain|difference|val_loss of (?P<arm>\S+)) after (?P<millions>\d\.\d) M tokens'
    r'(?: at (?P<scale>mini))?(?:, test (?P<test>\d))?"$',
    re.MULTILINE,
)
NUMBER = r"[+-]?\d+\.\d+"
FIGURE = re.compile(
    rf"\[(?P<mean>{NUMBER})(?P<interval>\s+\({NUMBER}\s+to\s+{NUMBER}\))?\]\[(?P<label>[^\]]+)\]"
)
LENGTHS = {"1.0": "short", "4.1": "long"}
COUNTS = re.compile(
    r"(?P<whose>Of|Of the reports' own)\s+\d+\s+claims\s+\d+\s+are\s+supported,\s+\d+\s+refuted,"
    r"\s+\d+\s+open,\s+\d+\s+of\s+them\s+decided"
)


class Effect(NamedTuple):
    """What a link stands for, in nats or another unit of the claim; bounds are None for a mean loss."""

    mean: float
    low: float | None = None
    high: float | None = None


def documents() -> list[Path]:
    """Those that may quote the ledger: the README and the documentation, without the ledger itself."""
    return [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md"))]


def updated(text: str, records: Records) -> str:
    """A document with the figures of the record."""
    effects = {found["label"]: _effect(found, records) for found in DEFINITION.finditer(text)}

    def figure(found: re.Match[str]) -> str:
        effect = effects.get(found["label"])
        return found[0] if effect is None else _written(found, effect)

    return COUNTS.sub(lambda found: _counted(found, records.claims), FIGURE.sub(figure, text))


def _effect(definition: re.Match[str], records: Records) -> Effect:
    place = (definition["scale"] or "micro", LENGTHS[definition["millions"]])
    if arm := definition["arm"]:
        runs = [run for run in records.runs.values() if (run.arm, run.scale, run.length) == (arm, *place)]
        return Effect(fmean(run.figures["val_loss"] for run in runs))
    claim = next(one for one in records.claims if one["claim"] == definition["claim"])
    (result,) = [one for one in claim["results"] if (one["scale"], one["length"]) == place]
    test = result["tests"][int(definition["test"] or 1) - 1]
    if definition["kind"] == "gain":
        return Effect(-test["effect"], -test["high"], -test["low"])
    return Effect(test["effect"], test["low"], test["high"])


def _written(found: re.Match[str], effect: Effect) -> str:
    """The figure to as many digits as it had, with the white space that it had."""
    digits = len(found["mean"].partition(".")[2])

    def number(value: float | None) -> str:
        assert value is not None, f"{found['label']} is a mean loss, which has no interval here"
        written = f"{value:.{digits}f}"
        return written.removeprefix("-") if float(written) == 0 else written

    numbers = iter(
        (number(effect.mean), *((number(effect.low), number(effect.high)) if found["interval"] else ()))
    )
    inside, _, label = found[0].rpartition("][")
    return re.sub(NUMBER, lambda _: next(numbers), inside) + "][" + label


def _counted(found: re.Match[str], claims: Iterable[Mapping[str, Any]]) -> str:
    of_all = found["whose"] == "Of"
    counted = [one for one in claims if of_all or one["topic"] in OF_THE_REPORTS]
    verdicts = Counter(one["verdict"] for one in counted)
    decided = (verdicts["supported"], verdicts["refuted"])
    at_one_length = sum(one["short_verdict"] is not None for one in counted)
    numbers = iter((len(counted), *decided, len(counted) - sum(decided), at_one_length))
    return re.sub(r"\d+", lambda _: str(next(numbers)), found[0])


def main() -> None:
    records = read()
    for path in documents():
        before = path.read_text(encoding="utf-8")
        if (after := updated(before, records)) != before:
            path.write_text(after, encoding="utf-8")
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
