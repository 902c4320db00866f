"""The chunked loss equals plain cross-entropy, value and gradients, for every head, chunk and choice of
tokens.

Shape letters: B sequences, T tokens, D model width, V vocabulary."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from somelab.model import Decoder, next_token_loss, token_nats
from somelab.model.loss import token_nats_and_errors
from tests.model.builders import VOCABULARY, decoder_of, tokens_of


def head_gradients(model: Decoder) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


# A head of its own with bias, and a tied one without; with torch's functions, and with the compiled kernel.
@pytest.mark.parametrize("kernels", [None, "native_kernels"])
@pytest.mark.parametrize("backbone", ["published", "modern"])
@pytest.mark.parametrize("chunk", [1, 5, 14, 1000])
def test_equals_cross_entropy(backbone: str, chunk: int, kernels: str | None, request: pytest.FixtureRequest):
    if kernels is not None:
        request.getfixturevalue(kernels)
    model = decoder_of({"backbone": backbone})
    targets = tokens_of(2, 7, seed=1)
    counted = torch.ones(2, 7, dtype=torch.bool)
    counted[1, 4:] = False
    hidden = torch.randn(2, 7, 24, requires_grad=True)

    loss = next_token_loss(model, hidden, targets, counted, chunk=chunk)
    (loss.nats * 0.3).backward()
    ours, ours_hidden = head_gradients(model), hidden.grad
    model.zero_grad()
    hidden.grad = None
    expected = F.cross_entropy(model.head(hidden)[counted], targets[counted], reduction="sum")
    (expected * 0.3).backward()

    assert loss.num_tokens == 11
    torch.testing.assert_close(loss.nats, expected)
    torch.testing.assert_close(ours_hidden, hidden.grad)
    assert ours_hidden[1, 4:].count_nonzero() == 0
    assert len(ours) == (2 if backbone == "published" else 1)
    torch.testing.assert_close(ours, head_gradients(model))


@pytest.mark.parametrize("chunk", [3, 1000])
def test_the_error_points_from_what_was_expected_to_the_word_that_came(chunk: int):
    model, targets = decoder_of(), tokens_of(2, 7, seed=1)
    counted = torch.ones(2, 7, dtype=torch.bool)
    counted[1, 4:] = False
    hidden = torch.randn(2, 7, 24, requires_grad=True)
    loss = next_token_loss(model, hidden, targets, counted, chunk=chunk, with_error=True)
    weight, _ = model.head_parameters()
    expected = weight[targets] - model.head(hidden).softmax(dim=-1) @ weight
    assert loss.error_BTD is not None
    assert not loss.error_BTD.requires_grad
    torch.testing.assert_close(loss.error_BTD, torch.where(counted[..., None], expected, 0.0).detach())
    (loss.nats * 0.3).backward()  # what is handed out is what backward scales, and stays as it was
    torch.testing.assert_close(hidden.grad, -0.3 * loss.error_BTD)
    assert next_token_loss(model, hidden, targets).error_BTD is None
    with torch.no_grad():
        assert next_token_loss(model, hidden, targets, with_error=True).error_BTD is None
    nats, errors = token_nats_and_errors(model, hidden, targets, chunk=chunk)
    torch.testing.assert_close(nats, token_nats(model, hidden, targets))
    torch.testing.assert_close(errors, expected.detach())


def test_even_guessing_costs_the_logarithm_of_the_vocabulary():
    model = decoder_of()
    with torch.no_grad():
        model.head_parameters()[0].zero_()
        model.head_parameters()[1].zero_()
    loss = next_token_loss(model, torch.randn(2, 3, 24), tokens_of(2, 3))
    assert loss.nats.item() == pytest.approx(6 * math.log(VOCABULARY), rel=1e-6)
    assert loss.num_tokens == 6


def test_gradients_reach_the_whole_decoder():
    """Through the chunked loss, a tied embedding gets both of its gradients: as input and as output."""
    model, tokens = decoder_of({"backbone": "modern"}), tokens_of(2, 8)
    output = model(tokens[:, :-1], hidden_only=True)
    assert output.logits_BTV is None
    next_token_loss(model, output.hidden_BTD, tokens[:, 1:], chunk=3).nats.backward()
    ours = head_gradients(model)
    model.zero_grad()
    F.cross_entropy(
        model(tokens[:, :-1]).logits_BTV.flatten(0, 1), tokens[:, 1:].flatten(), reduction="sum"
    ).backward()
    torch.testing.assert_close(ours, head_gradients(model), rtol=1e-4, atol=1e-5)


def test_no_token_that_counts():
    model, hidden = decoder_of(), torch.randn(1, 4, 24, requires_grad=True)
    loss = next_token_loss(model, hidden, tokens_of(1, 4), torch.zeros(1, 4, dtype=torch.bool))
    loss.nats.backward()
    assert (loss.nats.item(), loss.num_tokens) == (0.0, 0)
    assert hidden.grad.count_nonzero() == 0


@pytest.mark.parametrize("no_gradient", [True, False])
def test_token_nats_are_the_parts_of_the_sum(no_gradient: bool):
    model, hidden, targets = decoder_of(), torch.randn(2, 6, 24), tokens_of(2, 6)
    nats = token_nats(model, hidden, targets, chunk=5)
    with torch.set_grad_enabled(not no_gradient):
        loss = next_token_loss(model, hidden, targets, chunk=4)
    assert nats.shape == targets.shape
    assert loss.nats.requires_grad is not no_gradient
    torch.testing.assert_close(nats.sum(), loss.nats.detach())
    expected = F.cross_entropy(model.head(hidden).flatten(0, 1), targets.flatten(), reduction="none")
    torch.testing.assert_close(nats.flatten(), expected)


def test_whole_logits_are_never_held(monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []
    plain: Any = F.log_softmax

    def watched(logits: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        seen.append(logits.shape[0])
        return plain(logits, *args, **kwargs)

    monkeypatch.setattr(F, "log_softmax", watched)
    next_token_loss(decoder_of(), torch.randn(2, 10, 24, requires_grad=True), tokens_of(2, 10), chunk=8)
    assert seen == [8, 8, 4]


@pytest.mark.parametrize("bf16", [True, False])
def test_two_chunks_of_fp32_logits_are_all_that_is_ever_held(bf16: bool):
    """Every allocation of forward and backward is counted, those inside of operators too."""
    vocabulary, chunk, num_tokens = 4096, 256, 2048
    model = decoder_of({"vocab_size": vocabulary})
    hidden, targets = torch.randn(2, num_tokens // 2, 24, requires_grad=True), tokens_of(2, num_tokens // 2)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as taken:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            loss = next_token_loss(model, hidden, targets, chunk=chunk)
        loss.nats.backward()
    events: Any = taken.profiler.kineto_results.events()
    changes = [
        event.nbytes()
        for event in sorted(events, key=lambda event: event.start_ns())
        if event.name() == "[memory]"
    ]
    peak = max(accumulate(changes))
    one_chunk, head = chunk * vocabulary * 4, vocabulary * 24 * 4
    assert one_chunk < peak < 2 * one_chunk + 6 * head < num_tokens * vocabulary * 4 / 2


def test_bf16_autocast_matches_to_its_precision():
    model, targets = decoder_of(), tokens_of(2, 9)
    hidden = torch.randn(2, 9, 24, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = next_token_loss(model, hidden, targets, chunk=4)
    loss.nats.backward()
    ours = hidden.grad.clone()
    hidden.grad = None
    expected = F.cross_entropy(model.head(hidden).flatten(0, 1), targets.flatten(), reduction="sum")
    expected.backward()
    assert loss.nats.dtype == torch.float32
    torch.testing.assert_close(loss.nats, expected, rtol=1e-2, atol=0)
    assert F.cosine_similarity(ours.flatten(), hidden.grad.flatten(), dim=0) > 0.999
