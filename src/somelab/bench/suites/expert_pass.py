"""One expert pass: tokens, routing and gates. The input of every contender of `layer`.

Shape letters: T tokens, D model width, K experts per token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from somelab.bench import routings
from somelab.bench.settings import Shape


@dataclass(frozen=True)
class Load:
    """The input of a pass, the same for all. Tokens are leaves with gradient, as gates are: the router is
    trained."""

    shape: Shape
    pattern: str
    x_TD: Tensor
    indices_TK: Tensor
    gates_TK: Tensor
    grad_TD: Tensor
    """The gradient from the layers above."""


def load_of(shape: Shape, pattern: str, dtype: torch.dtype, seed: int = 0) -> Load:
    rng = torch.Generator().manual_seed(seed)
    x_TD, grad_TD = (torch.randn(shape.num_tokens, shape.d_model, generator=rng).to(dtype) for _ in range(2))
    return Load(
        shape,
        pattern,
        x_TD.requires_grad_(),
        routings.choices(pattern, shape.num_tokens, shape.num_experts, shape.top_k, seed),
        routings.gates(shape.num_tokens, shape.top_k, seed).requires_grad_(),
        grad_TD,
    )


@dataclass(frozen=True)
class Pass:
    """A contender with its input: forward, and the leaves that backward must reach (those alone cost
    time)."""

    forward: Callable[[], Tensor]
    leaves: Sequence[Tensor]
    grad: Tensor
    note: str = ""

    def run_forward(self) -> Tensor:
        with torch.no_grad():
            return self.forward()

    def run_both(self) -> tuple[Tensor, ...]:
        return torch.autograd.grad(self.forward(), self.leaves, self.grad)


def frozen_pass(experts: nn.Module, load: Load) -> Pass:
    """Backward reaches the tokens and the gates."""
    leaves = (load.x_TD, load.gates_TK)
    return Pass(lambda: experts(load.x_TD, load.indices_TK, load.gates_TK), leaves, load.grad_TD)


@dataclass(frozen=True)
class Entrant:
    """An implementation of the expert pass; `prepare` raises if it cannot run."""

    name: str
    kind: str
    note: str
    prepare: Callable[[Load], Pass]
    comparable: bool = False
    """Whether its output must equal ours, since it has the same weights."""
