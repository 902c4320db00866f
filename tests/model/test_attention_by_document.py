"""Attending document by document equals whole rows with a dense mask, gradients included, wherever documents
begin and end; and it is chosen only where it is cheaper.

Shape letters: B sequences, T tokens, H heads."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from somelab.config import ModelConfig
from somelab.model import Decoder, attention, placing
from somelab.model.attention import FLOPS_PER_CALL, pays_by_document
from somelab.model.positions import document_lengths, segments_of
from tests.model.builders import decoder_of, tokens_of

PACKINGS = {
    "one document a row": [[0] * 12, [0] * 12],
    "several": [[0] * 5 + [1] * 7, [0] * 3 + [1] * 4 + [2] * 5],
    "one goes on in the next row": [[0] * 7 + [1] * 5, [1] * 4 + [2] * 8],
    "documents of one token": [[0] + [1] * 10 + [2], [0, 1, 2, 3] + [4] * 4 + [5, 6, 7, 8]],
    "a row of single tokens": [list(range(12)), [0] * 6 + [1] * 6],
    "an id that comes back": [[3] * 4 + [1] * 4 + [3] * 4, [0] * 12],
}
POSITIONS = ["sinusoidal", "rope", "alibi", "none"]


def answers(
    model: Decoder, tokens_BT: Tensor, documents_BT: Tensor, **given: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and the gradients of a loss that weighs every one of them differently."""
    model.zero_grad()
    logits_BTV = model(tokens_BT, documents_BT=documents_BT, **given).logits_BTV
    (logits_BTV * torch.linspace(-1, 1, logits_BTV.numel()).view_as(logits_BTV)).sum().backward()
    return logits_BTV.detach(), {
        name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None
    }


def choose(patch: pytest.MonkeyPatch, by_document: bool) -> None:
    patch.setattr(placing, "pays_by_document", lambda *arguments: by_document)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("rows", PACKINGS.values(), ids=PACKINGS)
def test_equals_the_dense_mask(
    rows: list[list[int]], positions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Dense blocks: a routed token at a tie would go the other way by rounding, and hide what is compared
    # here.
    model, tokens, documents = (
        decoder_of({"positions": positions, "feed_forward": "dense"}),
        tokens_of(2, 12),
        torch.tensor(rows),
    )
    choose(monkeypatch, False)
    expected, expected_gradients = answers(model, tokens, documents)
    choose(monkeypatch, True)
    found, gradients = answers(model, tokens, documents)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=2e-5)
    torch.testing.assert_close(gradients, expected_gradients, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("positions", POSITIONS)
def test_given_positions_are_kept(positions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokens = decoder_of({"positions": positions, "feed_forward": "dense"}), tokens_of(2, 12)
    documents = torch.tensor(PACKINGS["several"])
    places = torch.arange(12).mul(3).expand(2, -1)
    choose(monkeypatch, False)
    expected, _ = answers(model, tokens, documents, positions_BT=places)
    choose(monkeypatch, True)
    torch.testing.assert_close(
        answers(model, tokens, documents, positions_BT=places)[0], expected, rtol=1e-5, atol=2e-5
    )
    if positions != "none":
        assert not torch.allclose(answers(model, tokens, documents)[0], expected, atol=1e-3)


class Kernel:
    """The fused kernel with a record of what it was asked: (queries, key slots, shape of the mask)."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[int, int, tuple[int, ...] | None]] = []
        self.plain: Any = F.scaled_dot_product_attention
        patch.setattr(attention.F, "scaled_dot_product_attention", self)

    def __call__(
        self, queries: Tensor, keys: Tensor, values: Tensor, attn_mask: Tensor | None = None, **more: Any
    ) -> Tensor:
        self.asked.append(
            (
                queries.shape[0] * queries.shape[2],
                keys.shape[2],
                None if attn_mask is None else tuple(attn_mask.shape),
            )
        )
        return self.plain(queries, keys, values, attn_mask=attn_mask, **more)


def asked(
    patch: pytest.MonkeyPatch, rows: list[list[int]], positions: str
) -> list[tuple[int, int, tuple[int, ...] | None]]:
    model, documents = decoder_of({"positions": positions, "num_layers": 1}), torch.tensor(rows)
    kernel = Kernel(patch)
    with torch.no_grad():
        model(tokens_of(*documents.shape), documents_BT=documents)
    return kernel.asked


def test_only_pairs_within_a_document_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, True)
    assert asked(monkeypatch, PACKINGS["several"], "rope") == [(n, n, None) for n in (5, 7, 3, 4, 5)]
    assert asked(monkeypatch, PACKINGS["documents of one token"], "rope") == [(10, 10, None), (4, 4, None)]


def test_alibi_needs_no_mask_of_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, True)
    assert asked(monkeypatch, PACKINGS["several"], "alibi") == [(n, n, (1, 4, n, n)) for n in (5, 7, 3, 4, 5)]


@pytest.mark.parametrize("by_document", [True, False])
def test_a_document_a_row_is_the_plain_case(by_document: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, by_document)
    assert asked(monkeypatch, PACKINGS["one document a row"], "rope") == [(24, 12, None)]
    assert asked(monkeypatch, PACKINGS["one document a row"], "alibi")[-1] == (24, 12, (1, 4, 12, 12))


def test_the_choice_by_hand() -> None:
    # 512 wide: 2,048 FLOPs a pair. A row of 768 as four documents of 192 saves three quarters of the pairs
    # for three calls more.
    assert 4 * (2048 * 192**2 + FLOPS_PER_CALL) < 2048 * 768**2 + FLOPS_PER_CALL
    assert pays_by_document((192,) * 4, 1, 768, 512)
    assert not pays_by_document((2,) * 384, 1, 768, 512), "384 calls cost more than the row"
    assert pays_by_document((1,) * 767 + (1,), 1, 768, 512), "tokens alone cost no call"
    assert not pays_by_document((256,), 1, 256, 512), "nothing to gain"


def test_lengths_are_those_of_every_row() -> None:
    segments = segments_of(torch.tensor([[7, 7, 7, 3], [3, 3, 9, 7]]))
    assert document_lengths(segments) == (3, 1, 2, 1, 1)


def test_whole_rows_where_it_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = torch.tensor(PACKINGS["several"])
    config = ModelConfig(d_model=24, num_heads=4)
    placed = placing.place(config, tokens_of(2, 12), documents, None, None, torch.float32).surroundings
    assert placed.documents is None, "rows of twelve tokens are not worth five calls"
    assert placed.mask is not None
    long = documents.repeat_interleave(64, dim=1)
    placed = placing.place(
        ModelConfig(d_model=512, num_heads=8), tokens_of(2, 768), long, None, None, torch.float32
    ).surroundings
    assert (placed.mask, placed.documents) == (None, (320, 448, 192, 256, 320))


def test_bf16_is_as_close_as_the_dense_mask_is(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokens = decoder_of({"feed_forward": "dense"}), tokens_of(2, 12)
    documents = torch.tensor(PACKINGS["several"])
    exact, _ = answers(model, tokens, documents)
    errors: list[float] = []
    for by_document in (False, True):
        choose(monkeypatch, by_document)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            errors.append(float((answers(model, tokens, documents)[0].float() - exact).norm() / exact.norm()))
    assert errors[1] < 2 * errors[0] < 0.05
