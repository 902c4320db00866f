"""Small layers, routings and statistics for the tests of the core: a line each instead of ten.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from somelab.config import ExpertsConfig, GravityConfig, RouterConfig
from somelab.core.gravity import KeyState, Moment
from somelab.core.layer import SomeLayer
from somelab.core.router import Routing
from somelab.core.statistics import RoutingStatistics

QUIET: dict[str, Any] = {"attraction": False, "peer_pull": False, "decay": False, "norm": "none"}
"""Gravity with every rule switched off: a test then switches on the one it is about."""


def random(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def tokens_of(num_tokens: int, d_model: int, seed: int = 0) -> Tensor:
    return torch.randn(num_tokens, d_model, generator=random(seed))


def small_layer(
    d_model: int = 16,
    *,
    experts: dict[str, Any] | None = None,
    router: dict[str, Any] | None = None,
    gravity: dict[str, Any] | None = None,
    **where: Any,
) -> SomeLayer:
    """Eight experts of width 24, three per token, unless given."""
    pool: dict[str, Any] = {"num_experts": 8, "d_ffn": 24, "top_k": 3, "init": "unit", **(experts or {})}
    return SomeLayer(
        d_model,
        ExpertsConfig(**pool),
        RouterConfig(**(router or {})),
        GravityConfig(**(gravity or {})),
        **where,
    )


def routing_of(
    indices: Sequence[Sequence[int]] | Tensor,
    queries: Sequence[Sequence[float]] | Tensor,
    gates: Sequence[Sequence[float]] | Tensor | None = None,
    raw_queries: Sequence[Sequence[float]] | Tensor | None = None,
) -> Routing:
    """A routing decided by hand. Gates are even and raw queries equal the queries where they are not
    given."""
    indices_TK = torch.as_tensor(indices)
    queries_TD = torch.as_tensor(queries, dtype=torch.float32)
    gates_TK = (
        torch.full(indices_TK.shape, 1 / indices_TK.shape[1])
        if gates is None
        else torch.as_tensor(gates, dtype=torch.float32)
    )
    raw_TD = queries_TD if raw_queries is None else torch.as_tensor(raw_queries, dtype=torch.float32)
    return Routing(indices_TK, gates_TK, queries_TD, raw_TD, torch.zeros(()))


def seen_of(
    config: GravityConfig,
    num_experts: int,
    routing: Routing,
    *,
    counted: Sequence[bool] | None = None,
    centre: bool = False,
) -> RoutingStatistics:
    """The statistics of one forward pass."""
    seen = RoutingStatistics(num_experts, routing.queries_TD.shape[1], config, centre=centre)
    seen.add_(
        routing, step=0, counted_T=None if counted is None else torch.tensor(counted), token_index_T=None
    )
    return seen


def state_of(keys: Sequence[Sequence[float]], usage: Sequence[float] | None = None) -> KeyState:
    """A layer's addresses with these keys; what is not given is zero."""
    keys_ED = torch.tensor(keys)
    num_experts, d_model = keys_ED.shape
    zeros_E = torch.zeros(num_experts)
    usage_E = zeros_E.clone() if usage is None else torch.tensor(usage)
    born_E = torch.full((num_experts,), -1)
    return KeyState(keys_ED, usage_E, zeros_E.clone(), zeros_E.clone(), torch.zeros(d_model), born_E, keys_ED)


def moment_of(
    config: GravityConfig,
    state: KeyState,
    *,
    step: int = 0,
    progress: float = 0.0,
    layer: int = 0,
    depth: int = 1,
) -> Moment:
    return Moment(config, layer, depth, step, progress, 0, state.keys_ED)


def buffers_of(layer: SomeLayer) -> dict[str, Tensor]:
    """A copy of everything that gravity or statistics could change: keys, usage, accumulators, lists."""
    copies = {f"buffer {name}": value.clone() for name, value in layer.named_buffers()}
    copies |= {f"parameter {name}": value.detach().clone() for name, value in layer.named_parameters()}
    seen = layer.statistics
    lists = {
        "pairs": seen.pairs.count,
        "codes": seen.pairs.code_P,
        "draws": seen.kept.draw_Q,
        "queries": seen.kept.query_QD,
    }
    return (
        copies
        | {name: value.clone() for name, value in lists.items()}
        | {"step": torch.tensor(layer.keystore.step)}
    )


def same_bits(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)
