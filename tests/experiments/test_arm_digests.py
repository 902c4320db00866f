"""The record of the ledger is looked up by digests of configurations: those of the arms that it knows stay
as they are, and so do its verdicts, whatever is added to the settings.

An arm that is added needs no line in arm_digests.json; one that is changed on purpose loses its record."""

from __future__ import annotations

import json
from pathlib import Path

from somelab.experiments.claims import CLAIMS
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.ledger.listing import listed
from somelab.experiments.ledger.records import read
from somelab.experiments.ledger.store import LENGTHS, SCALES
from somelab.experiments.runner.plan import identity

DIGESTS: dict[str, list[str]] = json.loads(Path(__file__).with_name("arm_digests.json").read_text())


def test_arms_keep_their_digests() -> None:
    found = {
        name: [
            identity(ARMS[name].config(scale, "tinystories", length))[:8]
            for scale in SCALES
            for length in LENGTHS
        ]
        for name in DIGESTS
    }
    assert found == DIGESTS


def test_the_list_keeps_every_recorded_verdict_and_adds_the_rest() -> None:
    records = read()
    recorded = {record["claim"]: record for record in records.claims}
    found = {record["claim"]: record for record in listed(list(CLAIMS.values()), records)}
    assert list(found) == list(CLAIMS)
    assert {claim: found[claim] for claim in recorded} == recorded
    for claim in found.keys() - recorded.keys():
        assert found[claim]["verdict"] == "not run"
        assert found[claim].keys() == recorded["credit-pays"].keys()
