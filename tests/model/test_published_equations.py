"""Layer and decoder of every published version beside a transcription of the published equations, token by
token: how weights start, and what a forward pass computes from the same weights.

Written from the equations, with torch's own attention; nothing of somelab computes in it."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from somelab.config import Config, override, preset
from somelab.model import Decoder

# One run of each version, and both query networks of v5.
RUNS = (
    "v1-notebook",
    "v2-baseline",
    "v2-pro",
    "v3-orthogonal",
    "v3-sparse",
    "v3.5",
    "a1",
    "c1",
    "v5-linear",
    "v5-mlp",
    "v6",
    "v7",
    "gpt2-some",
    "gpt2-dense",
)
SMALL_QUERY_NETWORK = ("v5-linear", "v5-mlp", "v6", "v7")
D, F, E, V, T, B = 64, 96, 8, 120, 12, 3
SMALL: dict[str, Any] = {
    "model.d_model": D,
    "model.num_layers": 2,
    "model.num_heads": 4,
    "model.seq_len": 16,
    "model.vocab_size": V,
    "experts.num_experts": E,
    "experts.d_ffn": F,
}


def small(name: str) -> Config:
    config = preset(name).config
    changes = {**SMALL, "experts.top_k": min(4, config.experts.top_k)}
    return override(config, {**changes, **({"model.d_dense": 4 * D} if config.model.d_dense else {})})


class Transcribed:
    """The published model in plain steps, on a decoder's weights."""

    def __init__(self, decoder: Decoder, *, masked: bool, normalised: bool, temperature: float) -> None:
        self.weights = {name: value.detach() for name, value in decoder.state_dict().items()}
        self.pools = [layer.experts for layer in decoder.some_layers()]
        self.keys = [layer.keystore.keys_ED for layer in decoder.some_layers()]
        self.top_k = decoder.config.experts.top_k
        self.masked, self.normalised, self.temperature = masked, normalised, temperature
        self.choices: list[list[int]] = []

    def logits(self, tokens: Tensor) -> Tensor:
        x = self.weights["embedding.weight"][tokens] * math.sqrt(D) + sinusoid(tokens.shape[1])
        for block in range(2):
            name = f"blocks.{block}"
            x = self.norm(f"{name}.attention_norm", x + self.attend(f"{name}.attention", x))
            x = self.norm(f"{name}.feed_forward_norm", x + self.feed(block, x))
        return x @ self.weights["head_weight"].T + self.weights["head_bias"]

    def norm(self, name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def attend(self, name: str, x: Tensor) -> Tensor:
        attention = nn.MultiheadAttention(D, 4, batch_first=True)
        with torch.no_grad():
            attention.in_proj_weight.copy_(self.weights[f"{name}.qkv.weight"])
            attention.in_proj_bias.copy_(self.weights[f"{name}.qkv.bias"])
            attention.out_proj.weight.copy_(self.weights[f"{name}.out.weight"])
            attention.out_proj.bias.copy_(self.weights[f"{name}.out.bias"])
            hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1) if self.masked else None
            return attention(x, x, x, attn_mask=hidden, need_weights=False)[0]

    def feed(self, block: int, x: Tensor) -> Tensor:
        name = f"blocks.{block}.feed_forward"
        if not self.pools:
            hidden = gelu(x @ self.weights[f"{name}.down.weight"].T + self.weights[f"{name}.down.bias"])
            return hidden @ self.weights[f"{name}.up.weight"].T + self.weights[f"{name}.up.bias"]
        return torch.stack([torch.stack([self.mixture(block, token) for token in row]) for row in x])

    def mixture(self, block: int, token: Tensor) -> Tensor:
        """sum_k softmax(s / temperature)_k W_up gelu(W_down x + b_down) + b_up, over the K best scores."""
        query = token
        name, number = f"blocks.{block}.feed_forward.router.linears", 0
        while f"{name}.{number}.weight" in self.weights:
            query = gelu(query) if number else query
            query = self.weights[f"{name}.{number}.weight"] @ query + self.weights[f"{name}.{number}.bias"]
            number += 1
        if self.normalised:
            query = query / query.norm()
        scores = [float(key @ query) for key in self.keys[block]]
        chosen = sorted(range(E), key=lambda expert: -scores[expert])[: self.top_k]
        self.choices.append(sorted(chosen))
        powers = [math.exp((scores[expert] - scores[chosen[0]]) / self.temperature) for expert in chosen]
        pool, total = self.pools[block], torch.zeros(D)
        for expert, power in zip(chosen, powers, strict=True):
            hidden = gelu(pool.down_EFD[expert] @ token + pool.down_bias_EF[expert])
            total = total + power / sum(powers) * (pool.up_EDF[expert] @ hidden + pool.up_bias_ED[expert])
        return total


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def sinusoid(length: int) -> Tensor:
    table = torch.zeros(length, D)
    for position in range(length):
        for pair in range(D // 2):
            angle = position / 10000 ** (2 * pair / D)
            table[position, 2 * pair], table[position, 2 * pair + 1] = math.sin(angle), math.cos(angle)
    return table


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("training", [True, False])
@torch.no_grad()
def test_a_forward_pass_is_the_published_one(name: str, training: bool) -> None:
    decoder = Decoder(small(name))
    decoder.train(training)
    decoder.set_progress_(3, 4)  # in the second epoch of two
    tokens = torch.randint(0, V, (B, T), generator=torch.Generator().manual_seed(1))
    temperatures = {"v3.5": (1.5, 0.5), "a1": (0.8, 0.5), "c1": (0.8, 0.5), "v2-baseline": (0.8, 0.5)}
    same = (1.0, 1.0) if name in ("v1-notebook", *SMALL_QUERY_NETWORK) else (1.0, 0.5)
    published = Transcribed(
        decoder,
        masked=name != "v1-notebook",
        normalised=name != "v1-notebook",
        temperature=temperatures.get(name, same)[0 if training else 1],
    )
    expected = published.logits(tokens)
    output = decoder(tokens)
    torch.testing.assert_close(output.logits_BTV, expected, atol=2e-5, rtol=1e-5)
    if published.choices:
        found = torch.cat([routing.indices_TK for routing in output.routings]).sort(dim=1).values
        assert found.tolist() == published.choices


@torch.no_grad()
def test_v3_5_trains_at_two_and_then_at_one_and_a_half() -> None:
    decoder = Decoder(small("v3.5"))
    router = decoder.some_layers()[0].router
    found: list[float | Tensor] = []
    for step in range(624):
        decoder.set_progress_(step, 624)
        found.append(router.temperature())
    assert found == [2.0] * 312 + [1.5] * 312
    decoder.eval()
    assert router.temperature() == 0.5


@pytest.mark.parametrize("name", RUNS)
@torch.no_grad()
def test_weights_start_as_published(name: str) -> None:
    """nn.MultiheadAttention, nn.Linear, nn.Embedding and nn.LayerNorm as torch starts them, and the query
    network of v5 to v7 at N(0, 0.02)."""
    decoder = Decoder(small(name))
    assert_normal(decoder.embedding.weight, 1.0)
    assert decoder.head_weight is not None
    assert_uniform(decoder.head_weight, 1 / math.sqrt(D))
    for block in decoder.blocks:
        attention = block.attention
        assert_uniform(attention.qkv.weight, math.sqrt(6 / (D + 3 * D)))
        assert_uniform(attention.out.weight, 1 / math.sqrt(D))
        assert not attention.qkv.bias.any()
        assert not attention.out.bias.any()
        for norm in (block.attention_norm, block.feed_forward_norm):
            assert (norm.weight == 1).all()
            assert not norm.bias.any()
    for layer in decoder.some_layers():
        for linear in layer.router.linears:
            if name in SMALL_QUERY_NETWORK:
                assert_normal(linear.weight, 0.02)
                assert not linear.bias.any()
            else:
                assert_uniform(linear.weight, 1 / math.sqrt(linear.in_features))
                assert_uniform(linear.bias, 1 / math.sqrt(linear.in_features), few=True)
        torch.testing.assert_close(layer.keystore.keys_ED.norm(dim=1), torch.ones(E))
        assert_experts_start_as(decoder.config.experts.init, layer.experts)


def assert_experts_start_as(init: str, pool: Any) -> None:
    assert not pool.down_bias_EF.any()
    assert not pool.up_bias_ED.any()
    for weights, inputs in ((pool.down_EFD, D), (pool.up_EDF, F)):
        if init == "default":
            assert_uniform(weights, 1 / math.sqrt(inputs))
        elif init == "sparse":
            assert ((weights == 0).sum(dim=1) == weights.shape[1] // 2).all()  # half of each column
            assert_normal(weights[weights != 0], 0.01)
        else:
            first = weights[0]
            product = first @ first.T if first.shape[0] < first.shape[1] else first.T @ first
            torch.testing.assert_close(product, torch.eye(D), atol=1e-5, rtol=0)


def assert_uniform(weight: Tensor, bound: float, *, few: bool = False) -> None:
    assert float(weight.abs().max()) <= bound
    assert float(weight.abs().max()) > (0.8 if few else 0.99) * bound
    assert float(weight.std()) == pytest.approx(bound / math.sqrt(3), rel=0.25 if few else 0.03)


def assert_normal(weight: Tensor, std: float) -> None:
    assert float(weight.std()) == pytest.approx(std, rel=0.05)
    assert float(weight.abs().max()) > 2.5 * std
