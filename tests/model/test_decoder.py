"""The decoder against forward passes written out for both backbones, and what must hold for every one of
them: causality, packing, seeds, evaluation that changes nothing.

Shape letters: B sequences, T tokens, D model width, V vocabulary."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from somelab.errors import ConfigError
from somelab.model import Decoder
from somelab.model.positions import sinusoid_table
from tests.model.builders import BACKBONES, assert_bit_equal, buffers_of, config_of, decoder_of, tokens_of

ALL_PARTS = [
    pytest.param({"backbone": backbone} | places, id=f"{backbone}-{places.get('positions', 'own')}")
    for backbone in ("published", "modern")
    for places in (
        {},
        {"positions": "sinusoidal"},
        {"positions": "rope"},
        {"positions": "alibi"},
        {"positions": "none"},
    )
]


def attend(block: Any, x_BTD: Tensor, num_heads: int, angle_of: Any = None) -> Tensor:
    """Causal attention by explicit weights, with interleaving-free rotation where `angle_of(position, pair)`
    is given."""
    queries, keys, values = (
        part.unflatten(-1, (num_heads, -1)).transpose(1, 2)
        for part in F.linear(x_BTD, block.qkv.weight, block.qkv.bias).chunk(3, -1)
    )
    if angle_of is not None:
        half = queries.shape[-1] // 2
        turn = torch.tensor(
            [[angle_of(position, pair) for pair in range(half)] for position in range(x_BTD.shape[1])]
        )
        unit = torch.polar(torch.ones_like(turn), turn)

        def turned(states: Tensor) -> Tensor:
            spun = torch.complex(states[..., :half].contiguous(), states[..., half:].contiguous()) * unit
            return torch.cat((spun.real, spun.imag), dim=-1)

        queries, keys = turned(queries), turned(keys)
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(queries.shape[-1])
    future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    mixed = scores.masked_fill(future, -math.inf).softmax(-1) @ values
    return F.linear(mixed.transpose(1, 2).flatten(2), block.out.weight, block.out.bias)


@torch.no_grad()
def test_published_backbone_written_out():
    model, tokens = decoder_of().eval(), tokens_of(2, 9)
    x = model.embedding.weight[tokens] * math.sqrt(24) + sinusoid_table(9, 24, tokens.device)
    for block in model.blocks:
        x = block.attention_norm(x + attend(block.attention, x, 4))
        x = block.feed_forward_norm(x + block.feed_forward(x))
    output = model(tokens)
    torch.testing.assert_close(output.hidden_BTD, x, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(
        output.logits_BTV, x @ model.head_weight.T + model.head_bias, rtol=1e-4, atol=1e-5
    )
    assert all(isinstance(block.attention_norm, nn.LayerNorm) for block in model.blocks)
    assert all(linear.bias is not None for linear in model.modules() if isinstance(linear, nn.Linear))


@torch.no_grad()
def test_modern_backbone_written_out():
    model, tokens = decoder_of({"backbone": "modern"}).eval(), tokens_of(2, 9)
    x = model.embedding.weight[tokens]
    for block in model.blocks:
        x = x + attend(
            block.attention,
            block.attention_norm(x),
            4,
            lambda position, pair: position * 10000 ** (-2 * pair / 6),
        )
        x = x + block.feed_forward(block.feed_forward_norm(x))
    x = model.final_norm(x)
    output = model(tokens)
    torch.testing.assert_close(output.hidden_BTD, x, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(output.logits_BTV, x @ model.embedding.weight.T, rtol=1e-4, atol=1e-5)
    assert isinstance(model.final_norm, nn.RMSNorm)
    assert model.head_weight is None
    assert not any(name.endswith("bias") for name, p in model.named_parameters() if p.requires_grad)


@pytest.mark.parametrize(
    ("replaced", "names"),
    [
        ({"bias": False}, {"head_bias", "blocks.0.attention.qkv.bias"}),
        ({"tied_head": True}, {"head_weight"}),
        ({"norm": "rms"}, {"blocks.0.attention_norm.bias", "blocks.0.feed_forward_norm.bias"}),
    ],
)
def test_a_part_can_be_replaced_alone(replaced: dict[str, Any], names: set[str]):
    whole, changed = (dict(decoder_of(parts).named_parameters()) for parts in ({}, replaced))
    assert names <= whole.keys()
    assert not names & changed.keys()
    assert changed.keys() < whole.keys()


@torch.no_grad()
@pytest.mark.parametrize("parts", ALL_PARTS)
def test_the_future_is_not_seen(parts: dict[str, Any]):
    model, tokens = decoder_of(parts).eval(), tokens_of(2, 12)
    other = tokens.clone()
    other[:, 7:] = (other[:, 7:] + 1) % 61
    first, second = model(tokens).logits_BTV, model(other).logits_BTV
    torch.testing.assert_close(first[:, :7], second[:, :7], rtol=1e-5, atol=1e-5)
    assert (first[:, 7:] - second[:, 7:]).abs().amax() > 1e-2


@torch.no_grad()
@pytest.mark.parametrize("parts", ALL_PARTS)
def test_a_packed_document_reads_as_if_alone(parts: dict[str, Any]):
    model, tokens = decoder_of(parts).eval(), tokens_of(2, 14)
    documents = torch.tensor([[4] * 5 + [9] * 7 + [4] * 2, [1] * 1 + [2] * 13])
    packed = model(tokens, documents_BT=documents).logits_BTV
    for row, start, end in ((0, 0, 5), (0, 5, 12), (0, 12, 14), (1, 0, 1), (1, 1, 14)):
        alone = model(tokens[row : row + 1, start:end]).logits_BTV[0]
        torch.testing.assert_close(packed[row, start:end], alone, rtol=1e-4, atol=1e-5)
    assert (packed - model(tokens).logits_BTV)[0, 5:].abs().amax() > 1e-2


@torch.no_grad()
@pytest.mark.parametrize("parts", BACKBONES.values(), ids=BACKBONES)
def test_reading_by_pieces_into_a_cache(parts: dict[str, Any]):
    model, tokens = decoder_of(parts).eval(), tokens_of(3, 21)  # past seq_len = 16
    cache = model.new_cache(3)
    pieces = [model(piece, cache=cache).logits_BTV for piece in tokens.split([4, 1, 9, 1, 6], dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(tokens).logits_BTV, rtol=1e-4, atol=1e-5)
    assert cache.lengths == [21, 21, 21]


@torch.no_grad()
@pytest.mark.parametrize("parts", BACKBONES.values(), ids=BACKBONES)
def test_given_positions(parts: dict[str, Any]):
    model, tokens = decoder_of(parts).eval(), tokens_of(1, 6)
    usual, counted = model(tokens).logits_BTV, model(tokens, positions_BT=torch.arange(6)[None]).logits_BTV
    torch.testing.assert_close(usual, counted)
    shifted = model(tokens, positions_BT=torch.arange(6)[None] + 40).logits_BTV
    spread = model(tokens, positions_BT=torch.arange(6)[None] * 3).logits_BTV
    relative = parts != BACKBONES["published"]  # the sinusoid alone knows absolute places
    assert torch.allclose(shifted, usual, atol=1e-3) is relative
    assert not torch.allclose(spread, usual, atol=1e-3)


def test_a_cache_takes_neither_documents_nor_positions():
    model, tokens = decoder_of(), tokens_of(1, 4)
    with pytest.raises(ConfigError, match="cache"):
        model(tokens, cache=model.new_cache(1), documents_BT=tokens)
    with pytest.raises(ConfigError, match="cache"):
        model(tokens, cache=model.new_cache(1), positions_BT=tokens)


@pytest.mark.parametrize("feed_forward", ["some", "none", "dense", "frozen_dense", "moe"])
def test_weights_are_a_function_of_the_seed(feed_forward: str):
    state = torch.get_rng_state()
    first = decoder_of({"feed_forward": feed_forward}, seed=5)
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(3)
    assert_bit_equal(buffers_of(first), buffers_of(decoder_of({"feed_forward": feed_forward}, seed=5)))
    other = buffers_of(decoder_of({"feed_forward": feed_forward}, seed=6))
    matrices = [name for name, value in first.named_parameters() if value.dim() > 1 and value.count_nonzero()]
    assert len(matrices) >= 4
    assert not any(torch.equal(first.get_parameter(name), other[name]) for name in matrices)


def test_the_seed_of_the_run_is_the_default():
    config = config_of(train={"seed": 5})
    assert_bit_equal(buffers_of(Decoder(config)), buffers_of(Decoder(config, seed=5)))


def test_starting_distributions():
    model = decoder_of({"d_model": 64, "vocab_size": 4096, "embedding_std": 0.5})
    assert model.embedding.weight.std().item() == pytest.approx(0.5, rel=0.01)
    for weight in (
        model.head_weight,
        model.head_bias,
        model.blocks[0].attention.qkv.weight,
        model.blocks[0].attention.out.bias,
    ):
        assert 0.9 / 8 < weight.abs().max() <= 1 / 8  # uniform within 1/sqrt(D)
        assert weight.std().item() == pytest.approx(1 / 8 / math.sqrt(3), rel=0.15)


@pytest.mark.parametrize("feed_forward", ["some", "none", "dense", "frozen_dense", "moe"])
def test_builds_on_the_meta_device(feed_forward: str):
    with torch.device("meta"):
        model = decoder_of({"feed_forward": feed_forward})
    tensors = [*model.parameters(), *model.buffers()]
    assert all(tensor.is_meta for tensor in tensors)
    real = buffers_of(decoder_of({"feed_forward": feed_forward}))
    assert {name: value.shape for name, value in buffers_of(model).items()} == {
        name: value.shape for name, value in real.items()
    }


@pytest.mark.parametrize("feed_forward", ["some", "moe"])
def test_evaluation_leaves_every_tensor_alone(feed_forward: str):
    model = decoder_of(
        {"feed_forward": feed_forward, "dropout": 0.1}, router={"kind": "mlp", "centre_queries": True}
    ).eval()
    before = buffers_of(model)
    model(tokens_of(2, 9))
    with torch.no_grad():
        model(tokens_of(2, 9), documents_BT=tokens_of(2, 9))
    assert_bit_equal(before, buffers_of(model))


def test_dropout_acts_in_training_only():
    model, tokens = decoder_of({"dropout": 0.5}), tokens_of(1, 8)
    assert not torch.equal(model(tokens).hidden_BTD, model(tokens).hidden_BTD)
    model.eval()
    assert torch.equal(model(tokens).hidden_BTD, model(tokens).hidden_BTD)


@pytest.mark.parametrize("parts", BACKBONES.values(), ids=BACKBONES)
def test_autocast_stays_close_to_fp32(parts: dict[str, Any]):
    # Both experts always: no near ties.
    model, tokens = (decoder_of(parts, experts={"num_experts": 2}), tokens_of(2, 12))
    documents = torch.tensor([[0] * 5 + [1] * 7] * 2)
    exact = model(tokens, documents_BT=documents)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = model(tokens, documents_BT=documents)
    assert rounded.logits_BTV.dtype == torch.bfloat16
    assert (
        F.cosine_similarity(rounded.logits_BTV.float().flatten(), exact.logits_BTV.flatten(), dim=0) > 0.999
    )
    rounded.logits_BTV.float().square().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
