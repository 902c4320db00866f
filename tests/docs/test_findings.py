"""The findings in the README are those of the record: its table has the effects and intervals of the claims
that it is about, to the last digit shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from somelab.experiments.ledger.records import read

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
CLAIMS = {
    "the same block without routing": "modulated-routing-pays",
    "the same, keys that never move": "modulated-credit-pays",
    "dense, features normalised before GELU": "modulated-beats-normed-dense",
    "dense": "modulated-beats-equal-dense",
    "dense, SwiGLU": "modulated-beats-swiglu",
    "dense, 4 D": "modulated-beats-usual-dense",
    "dense, 4 D, features normalised before GELU": "modulated-beats-usual-normed-dense",
    "learned mixture of 8 experts, K 2": "modulated-beats-learned-mixture",
    "dense, for the same time (1.25 x the tokens)": "modulated-beats-equal-dense-in-equal-time",
    "dense, normalised, for the same time (1.2 x)": "modulated-beats-normed-dense-in-equal-time",
}


def effect(claim: str, length: str) -> str:
    """As the README writes it; empty where the claim was not run at that length."""
    record = next(one for one in read().claims if one["claim"] == claim)
    found = [one for one in record["results"] if one["length"] == length and one["scale"] == "micro"]
    return "".join(f"{one['effect']:.3f} ({one['low']:.3f} to {one['high']:.3f})" for one in found)


@pytest.mark.parametrize("row", CLAIMS)
def test_a_row_of_the_table_is_that_of_the_record(row: str) -> None:
    (line,) = re.findall(rf"^\| {re.escape(row)} \|.*$", README, flags=re.MULTILINE)
    *_, short, long = (cell.strip() for cell in line.strip("|").split("|"))
    assert (short, long) == (effect(CLAIMS[row], "short"), effect(CLAIMS[row], "long"))


def test_the_numbers_of_verdicts() -> None:
    """Where the README says how many claims there are, it says what `evidence --list` counts."""
    verdicts = [one["verdict"] for one in read().claims]
    (said,) = re.findall(r"Of (\d+) claims (\d+) are supported, (\d+) refuted", README)
    assert [int(number) for number in said] == [
        len(verdicts),
        verdicts.count("supported"),
        verdicts.count("refuted"),
    ]
