"""Trained layers whose first weights come from a generator that is passed in. torch's own constructors use
the global generator, so that a model's weights would depend on what ran before."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor, nn


class _Undrawn(nn.Linear):
    """A linear layer whose weights are not drawn. `torch.nn.utils.skip_init` does the same by way of the meta
    device, for which torch imports its compiler and sympy: seconds, at every start of a command."""

    def reset_parameters(self) -> None:
        pass


def seeded_linear(num_inputs: int, num_outputs: int, *, bias: bool, rng: torch.Generator) -> nn.Linear:
    """nn.Linear with its default initialisation: weight and bias uniform within 1/sqrt(inputs)."""
    undrawn: Any = _Undrawn(num_inputs, num_outputs, bias=bias)
    undrawn.__class__ = nn.Linear
    linear = cast(nn.Linear, undrawn)
    for parameter in linear.parameters():
        draw_uniform_(parameter, num_inputs, rng)
    return linear


def seeded_embedding(num_entries: int, width: int, *, std: float, rng: torch.Generator) -> nn.Embedding:
    """nn.Embedding with normal entries of the given standard deviation."""
    embedding = nn.Embedding.from_pretrained(torch.empty(num_entries, width), freeze=False)
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
