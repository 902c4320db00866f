"""Padding that no loss looks at costs attention nothing, and changes nothing that is trained or measured.

Shape letters: B sequences, T tokens, S = T + 1 tokens of a row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from somelab.data.batch import Batch, batch_of
from somelab.data.tokenizer import END_OF_TEXT_ID, PAD_ID
from somelab.model import Decoder, placing
from somelab.training import loop
from somelab.training.evaluate import evaluate, evaluate_with_padding
from somelab.training.loop import TrainingLoss
from somelab.training.machine.world import World
from somelab.training.padding import attended_documents
from somelab.training.usage_with_padding import UsageWithPadding
from tests.model.builders import VOCABULARY, decoder_of

LENGTHS = (9, 3, 12, 1, 6)


def batch(*, packed: bool, padding_in_loss: bool = False) -> Batch:
    """A text a row, padded to 12 tokens; the last row is blank."""
    rows = np.full((len(LENGTHS) + 1, 13), PAD_ID)
    for row, length in zip(rows, LENGTHS):
        row[:length] = np.arange(length) * 7 % (VOCABULARY - 2) + 2
        row[length] = END_OF_TEXT_ID
    return batch_of(rows, np.ones(VOCABULARY, np.int64), packed=packed, padding_in_loss=padding_in_loss)


def test_every_padding_token_stands_alone() -> None:
    documents = attended_documents(batch(packed=False), padding_in_loss=False)
    assert documents is not None
    assert documents[1].tolist() == [0, 0, 0, 0, *range(-5, -13, -1)]
    assert documents[5].tolist() == list(range(-1, -13, -1))
    packed = batch(packed=True)
    told = attended_documents(packed, padding_in_loss=False)
    assert told is not None
    assert packed.documents_BT is not None
    assert torch.equal(told >= 0, packed.tokens_BT != PAD_ID)
    assert torch.equal(told[told >= 0], packed.documents_BT[told >= 0])


def test_padding_that_is_in_the_loss_is_read_as_text() -> None:
    assert attended_documents(batch(packed=False, padding_in_loss=True), padding_in_loss=True) is None


def test_rows_without_padding_stay_plain() -> None:
    full = batch(packed=False)
    assert attended_documents(full.micro_batches(1)[2], padding_in_loss=False) is None


def gradients(model: Decoder, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    model.zero_grad()
    nats, aux_loss = TrainingLoss(model)(batch)
    (nats + aux_loss).backward()
    return nats.detach(), {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("positions", ["sinusoidal", "rope", "alibi"])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("by_document", [True, False])
def test_losses_and_gradients_are_those_of_plain_rows(
    packed: bool, by_document: bool, positions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = decoder_of({"positions": positions, "feed_forward": "dense"}, data={"padding_in_loss": False})
    told = batch(packed=packed)
    with monkeypatch.context() as patch:
        patch.setattr(loop, "attended_documents", lambda batch, padding_in_loss: None)
        plain, plain_gradients = gradients(model, replace(told, documents_BT=None))
    monkeypatch.setattr(placing, "pays_by_document", lambda *arguments: by_document)
    found, found_gradients = gradients(model, told)
    torch.testing.assert_close(found, plain, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found_gradients, plain_gradients, rtol=1e-4, atol=1e-5)


def test_evaluations_are_those_of_plain_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    model = decoder_of(data={"padding_in_loss": False})
    padded, packed = batch(packed=False), batch(packed=True)
    monkeypatch.setattr(placing, "pays_by_document", lambda *arguments: True)
    found = (
        evaluate(model, [packed], dtype=torch.float32),
        evaluate_with_padding(model, [padded], dtype=torch.float32),
    )
    monkeypatch.setattr("somelab.training.evaluate.attended_documents", lambda batch, padding_in_loss: None)
    plain = (
        evaluate(model, [padded], dtype=torch.float32),
        evaluate_with_padding(model, [padded], dtype=torch.float32),
    )
    assert found[0].num_tokens == plain[0].num_tokens == sum(LENGTHS)
    assert found[0].val_loss == pytest.approx(plain[0].val_loss, rel=1e-5)
    assert found[1] == pytest.approx(plain[1], rel=1e-5)


@pytest.mark.parametrize("count_padding", [True, False])
def test_padding_moves_keys_only_where_the_setting_says_so(count_padding: bool) -> None:
    """The statistics of a layer against its own selections: of every token of the rows that are not blank, or
    of those of meaning."""
    padded = batch(packed=False, padding_in_loss=True)
    model = decoder_of(
        data={"layout": "pad", "padding_in_loss": True}, gravity={"count_padding": count_padding}
    )
    seen: list[Tensor] = []
    (layer, *_) = model.some_layers()
    layer.router.register_forward_hook(lambda _m, _i, routing: seen.append(routing.indices_TK))
    TrainingLoss(model)(padded)
    not_blank_BT = (padded.tokens_BT[:, :1] != PAD_ID).expand_as(padded.tokens_BT)
    counts_BT = not_blank_BT if count_padding else padded.meaning_BT
    by_hand_E = torch.zeros_like(layer.statistics.count_E)
    for experts in seen[0][counts_BT.reshape(-1)].tolist():
        for expert in experts:
            by_hand_E[expert] += 1
    torch.testing.assert_close(layer.statistics.count_E, by_hand_E)
    assert int(layer.statistics.num_tokens) == (5 * 12 if count_padding else sum(LENGTHS))


def test_the_loss_without_padding_is_kept_beside_the_one_with_it() -> None:
    padded = batch(packed=False, padding_in_loss=True)
    model = decoder_of(data={"layout": "pad", "padding_in_loss": True}, gravity={"count_padding": True})
    usage = UsageWithPadding.of(model.config, len(model.some_layers()), torch.device("cpu"))
    assert usage is not None
    nats, _ = TrainingLoss(model, usage)(padded)
    logits_BTV = model(padded.tokens_BT).logits_BTV
    assert logits_BTV is not None
    nats_BT = -logits_BTV.log_softmax(-1).gather(-1, padded.targets_BT[..., None])[..., 0]
    alone = World(0, 1, torch.device("cpu"))
    assert float(nats.detach()) == pytest.approx(float(nats_BT[:-1].sum().detach()), rel=1e-5)
    by_hand = nats_BT[padded.meaning_BT].mean()
    assert usage.finish_step_(alone) == pytest.approx(float(by_hand.detach()), rel=1e-5)
    assert usage.finish_step_(alone) == 0.0  # counted once
