"""Figures that documents quote from the ledger are those of the record, to the last digit shown: if this
fails after new runs, `python docs/quoted.py` writes them, and the prose around them has to be read again."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from somelab.experiments.ledger.records import read

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("quoted", ROOT / "docs" / "quoted.py")
assert spec is not None
assert spec.loader is not None
quoted = importlib.util.module_from_spec(spec)
sys.modules["quoted"] = quoted  # named tuples look their module up
spec.loader.exec_module(quoted)

QUOTING = [path for path in quoted.documents() if quoted.DEFINITION.search(path.read_text(encoding="utf-8"))]
MOVED = '[a]: evidence.md#credit-pays "{kind} after {millions} M tokens"\n'


def figures_of(claim: str, length: str) -> list[dict[str, float]]:
    record = next(one for one in read().claims if one["claim"] == claim)
    (result,) = [one for one in record["results"] if one["length"] == length and one["scale"] == "micro"]
    return result["tests"]


@pytest.mark.parametrize("path", quoted.documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_has_the_figures_of_the_record(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert quoted.updated(text, read()) == text


@pytest.mark.parametrize("path", QUOTING, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_quoted_figure_is_defined_and_every_definition_is_used(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    defined = {found["label"] for found in quoted.DEFINITION.finditer(text)}
    used = {found["label"] for found in quoted.FIGURE.finditer(text)}
    assert used == defined
    for found in quoted.DEFINITION.finditer(text):
        place, _, anchor = found[0].split()[1].partition("#")
        assert not anchor or f"\n### {anchor}\n" in (path.parent / place).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("heading", "verdict"),
    [("Supported", "supported"), ("Refuted", "refuted"), ("Open, and small", "undecided")],
)
def test_what_became_of_a_claim_is_what_the_record_says(heading: str, verdict: str) -> None:
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    (bullet,) = re.findall(rf"^- \*\*{heading}\*\*(?: after|:).*?(?=^- |\Z)", text, re.MULTILINE | re.DOTALL)
    claims = {found["label"]: found["claim"] for found in quoted.DEFINITION.finditer(text)}
    verdicts = {one["claim"]: one["verdict"] for one in read().claims}
    named = {claims[found["label"]] for found in quoted.FIGURE.finditer(bullet)}
    assert len(named) >= 5
    assert {claim: verdicts[claim] for claim in named} == dict.fromkeys(named, verdict)


def test_the_readme_quotes_every_baseline_and_counts_the_verdicts() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert (ROOT / "README.md") in QUOTING
    assert (
        len(re.findall(r"^\| (?:dense|the same|learned)[^|]*\|[^|]*\| \[\d.\d{3}\]\[", text, re.MULTILINE))
        == 10
    )
    assert len(quoted.COUNTS.findall(text)) == 1


@pytest.mark.parametrize(
    ("kind", "millions", "sign"), [("difference", "1.0", 1), ("gain", "1.0", -1), ("gain", "4.1", -1)]
)
def test_a_wrong_figure_is_mended(kind: str, millions: str, sign: int) -> None:
    test = figures_of("credit-pays", quoted.LENGTHS[millions])[0]
    definition = MOVED.format(kind=kind, millions=millions)
    low, high = sorted((sign * test["low"], sign * test["high"]))
    expected = f"[{sign * test['effect']:.3f} ({low:.3f} to {high:.3f})][a]\n{definition}"
    assert quoted.updated(f"[9.999 (-9.999 to 9.999)][a]\n{definition}", read()) == expected


def test_digits_and_line_ends_stay_and_other_links_are_left_alone() -> None:
    test = figures_of("credit-pays", "long")[0]
    text = "[9.9\n  (9.9 to\n  9.9)][a] [1.5 (1.0 to 2.0)][b] [9.9999][a]\n" + MOVED.format(
        kind="difference", millions="4.1"
    )
    first, others = quoted.updated(text, read()).split(" [1.5")
    assert first == f"[{test['effect']:.1f}\n  ({test['low']:.1f} to\n  {test['high']:.1f})][a]".replace(
        "-0.0", "0.0"
    )
    assert others.startswith(f" (1.0 to 2.0)][b] [{test['effect']:.4f}][a]")


def test_another_test_of_a_claim_and_the_loss_of_an_arm() -> None:
    second = figures_of("modulated-more-experts-help", "short")[1]
    losses = [
        run.figures["val_loss"]
        for run in read().runs.values()
        if (run.arm, run.scale, run.length) == ("modern-modulated", "micro", "short")
    ]
    text = (
        "[9.999][a] [9.999][b]\n"
        '[a]: evidence.md#modulated-more-experts-help "difference after 1.0 M tokens, test 2"\n'
        '[b]: frontier.md "val_loss of modern-modulated after 1.0 M tokens"\n'
    )
    expected = f"[{second['effect']:.3f}][a] [{sum(losses) / len(losses):.3f}][b]"
    assert quoted.updated(text, read()).splitlines()[0] == expected


def test_verdicts_are_counted() -> None:
    claims = read().claims
    verdicts = [one["verdict"] for one in claims]
    said = "Of 1 claims 1 are supported,\n1 refuted, 1 open, 1 of them decided at one length."
    numbers = [int(number) for number in re.findall(r"\d+", quoted.updated(said, read()))]
    assert numbers[:3] == [len(verdicts), verdicts.count("supported"), verdicts.count("refuted")]
    assert numbers[0] == sum(numbers[1:4])
    assert numbers[4] == sum(one["short_verdict"] is not None for one in claims)
