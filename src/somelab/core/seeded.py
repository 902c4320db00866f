"""Trained layers whose first weights come from a generator that is passed in. torch's own constructors use
the global generator, so that a model's weights would depend on what ran before."""

from __future__ import annotations

import math
from collections.abc import Callable
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


def start_normal_(linear: nn.Linear, std: float, rng: torch.Generator) -> None:
    """Restart a layer at N(0, std) with bias 0."""
    _fill_(linear.weight, lambda weight: weight.normal_(0, std, generator=rng))
    zero_bias_(linear)


def start_xavier_(linear: nn.Linear, rng: torch.Generator) -> None:
    """Restart a layer uniform within sqrt(6 / (inputs + outputs)), with bias 0."""
    bound = math.sqrt(6 / (linear.in_features + linear.out_features))
    _fill_(linear.weight, lambda weight: weight.uniform_(-bound, bound, generator=rng))
    zero_bias_(linear)


def zero_bias_(linear: nn.Linear) -> None:
    """Restart the bias alone, where there is one."""
    bias = cast("Tensor | None", linear.bias)
    if bias is not None and not bias.is_meta:
        with torch.no_grad():
            bias.zero_()


def _fill_(weight: Tensor, draw: Callable[[Tensor], Tensor]) -> None:
    """Drawn on the CPU, so that every device starts from the same bits; meta tensors stay empty."""
    if not weight.is_meta:
        with torch.no_grad():
            weight.copy_(draw(torch.empty(weight.shape, device="cpu")))


def seeded_embedding(num_entries: int, width: int, *, std: float, rng: torch.Generator) -> nn.Embedding:
    """nn.Embedding with normal entries of the given standard deviation."""
    embedding = nn.Embedding.from_pretrained(torch.empty(num_entries, width), freeze=False)
    _fill_(embedding.weight, lambda weight: weight.normal_(0, std, generator=rng))
    return embedding


def draw_uniform_(weight: Tensor, num_inputs: int, rng: torch.Generator) -> None:
    """Fill with nn.Linear's default."""
    bound = 1 / math.sqrt(num_inputs)
    _fill_(weight, lambda drawn: drawn.uniform_(-bound, bound, generator=rng))
