"""Small configurations and token batches for the tests of the model: a line each instead of ten.

Shape letters: B sequences, T tokens."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from somelab.config import Config
from somelab.model import Decoder

VOCABULARY = 61
BACKBONES: dict[str, dict[str, Any]] = {
    "published": {"backbone": "published"},
    "modern": {"backbone": "modern"},
    "alibi": {"backbone": "published", "positions": "alibi"},
}
"""The three ways in which a token knows its place, each with the rest of its backbone."""


def config_of(model: dict[str, Any] | None = None, **groups: dict[str, Any]) -> Config:
    """A decoder of width 24, two layers, six experts of which two are selected; any field can be replaced."""
    small = {"d_model": 24, "num_layers": 2, "num_heads": 4, "seq_len": 16, "vocab_size": VOCABULARY}
    pool = {"num_experts": 6, "d_ffn": 20, "top_k": 2}
    tree: dict[str, Any] = {"router": {"kind": "mlp"}, **groups}
    tree["model"] = {**small, **(model or {})}
    tree["experts"] = {**pool, **groups.get("experts", {})}
    # Two ways to the same figures are compared; `auto` is bf16 in some of them on processors that have it.
    tree["train"] = {"precision": "fp32", **groups.get("train", {})}
    return Config.model_validate(tree)


def decoder_of(model: dict[str, Any] | None = None, *, seed: int = 0, **groups: dict[str, Any]) -> Decoder:
    return Decoder(config_of(model, **groups), seed=seed)


def tokens_of(num_rows: int, num_tokens: int, seed: int = 0) -> Tensor:
    return torch.randint(0, VOCABULARY, (num_rows, num_tokens), generator=torch.Generator().manual_seed(seed))


def buffers_of(model: torch.nn.Module) -> dict[str, Tensor]:
    """A copy of every tensor of a model, weights and buffers, persistent or not."""
    return {
        name: value.detach().clone() for name, value in (*model.named_parameters(), *model.named_buffers())
    }


def assert_bit_equal(before: dict[str, Tensor], after: dict[str, Tensor]) -> None:
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert torch.equal(value, after[name]), f"{name} has changed"
