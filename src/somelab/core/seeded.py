"""Trained layers whose first weights come from a generator that is passed in. torch's own constructors use
the global generator, so that a model's weights would depend on what ran before."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.utils import skip_init


def seeded_linear(num_inputs: int, num_outputs: int, *, bias: bool, rng: torch.Generator) -> nn.Linear:
    """nn.Linear with its default initialisation: weight and bias uniform within 1/sqrt(inputs)."""
    linear = cast(
        nn.Linear, skip_init(nn.Linear, num_inputs, num_outputs, bias=bias, device=torch.get_default_device())
    )
    for parameter in linear.parameters():
        draw_uniform_(parameter, num_inputs, rng)
    return linear


def seeded_embedding(num_entries: int, width: int, *, std: float, rng: torch.Generator) -> nn.Embedding:
    """nn.Embedding with normal entries of the given standard deviation."""
    embedding = cast(
        nn.Embedding, skip_init(nn.Embedding, num_entries, width, device=torch.get_default_device())
    )
    if not embedding.weight.is_meta:
        with torch.no_grad():
            embedding.weight.copy_(
                torch.empty(num_entries, width, device="cpu").normal_(0, std, generator=rng)
            )
    return embedding


def draw_uniform_(weight: Tensor, num_inputs: int, rng: torch.Generator) -> None:
    """Fill with nn.Linear's default. Drawn on the CPU, so that every device starts from the same bits; meta
    tensors stay empty."""
    if weight.is_meta:
        return
    bound = 1 / math.sqrt(num_inputs)
    with torch.no_grad():
        weight.copy_(torch.empty(weight.shape, device="cpu").uniform_(-bound, bound, generator=rng))
