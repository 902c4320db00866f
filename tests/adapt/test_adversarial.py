"""Streams that mean harm: whatever is read, keys stay finite and bounded, and the old text is itself again
after reversion."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from somelab.adapt import adapting
from somelab.adapt.settings import GRAVITY_RULES
from somelab.data.batch import Batch
from somelab.model import Decoder
from tests.adapt.builders import KINDS, batches_of, rows_of_kind, stream_of
from tests.model.builders import decoder_of

RULES = tuple(rule for rule in GRAVITY_RULES if rule != "centring")


def check_bounded(model: Decoder, longest: float = 1.0) -> None:
    for layer in model.some_layers():
        store = layer.keystore
        assert bool(store.keys_ED.isfinite().all())
        assert bool(store.usage_E.isfinite().all())
        assert float(store.keys_ED.norm(dim=1).max()) <= longest + 1e-5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("norm", "scoring"), [("unit", "cosine"), ("clamp", "cosine"), ("none", "dot")])
def test_keys_stay_finite_and_bounded(kind: str, norm: str, scoring: str) -> None:
    model = decoder_of(gravity={"norm": norm}, router={"kind": "linear", "scoring": scoring})
    home = stream_of("random", 16, seed=9)
    with adapting(
        model, rules=(*RULES, "temperature", "gain", "memory"), rate=1000.0, every=64, trust_region=None
    ) as adaptation:
        before = adaptation.measure(home)
        for _ in adaptation.read(batches_of(rows_of_kind(kind, 160), 8)):
            check_bounded(model)
        assert adaptation.num_updates > 12
        assert adaptation.movement()["max_angle"] > 1
        adaptation.revert_(0.1, 120)
        after = adaptation.measure(home)
    assert after.loss == pytest.approx(before.loss, rel=0.01)


def test_kinds_in_turn_do_no_lasting_harm() -> None:
    model, home = decoder_of(), stream_of("random", 16, seed=9)
    with adapting(model, rules=RULES, rate=100.0, every=64) as adaptation:
        before = adaptation.measure(home)
        for turn in range(12):
            list(adaptation.read(batches_of(rows_of_kind(KINDS[turn % len(KINDS)], 30, seed=turn), 5)))
        check_bounded(model)
        adaptation.revert_(0.2, 60)
        assert adaptation.measure(home).loss == pytest.approx(before.loss, rel=0.01)


def endless(seq_len: int, vocabulary: int, num_tokens: int) -> Iterator[Batch]:
    read, turn = 0, 0
    while read < num_tokens:
        rows_RS = rows_of_kind(
            KINDS[turn % len(KINDS)], 512, seed=turn, vocabulary=vocabulary, seq_len=seq_len
        )
        for batch in batches_of(rows_RS, 512):
            read += batch.num_counted
            yield batch
        turn += 1


@pytest.mark.slow
def test_ten_million_adversarial_tokens() -> None:
    shape = {"d_model": 16, "num_layers": 1, "num_heads": 2, "seq_len": 64, "vocab_size": 61}
    model = decoder_of(shape, experts={"num_experts": 8, "d_ffn": 16, "top_k": 2}, gravity={"norm": "clamp"})
    home = batches_of(rows_of_kind("random", 64, seed=9, seq_len=64), 64)
    with adapting(model, rules=RULES, rate=10.0, every=8192, reversion=0.01) as adaptation, torch.no_grad():
        before = adaptation.measure(home)
        for _ in adaptation.read(endless(64, 61, 10_000_000)):
            check_bounded(model)
        assert adaptation.num_tokens >= 10_000_000
        assert adaptation.num_rejected == 0
        adaptation.revert_(0.1, 120)
        after = adaptation.measure(home)
    assert after.loss == pytest.approx(before.loss, rel=0.01)
