"""A very small world for the pictures: a few keys, tokens that are their own queries, and the real rules of
gravity. Everything that moves here is moved by somelab.core; this file only feeds it and keeps what happened.

Shape letters: T tokens, D model width (2 in most pictures), E experts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from somelab.config import GravityConfig, RouterConfig
from somelab.core.gravity import KeyState, Moment, Rule, apply_rules
from somelab.core.gravity.credit import merits
from somelab.core.gravity.smoothing import smoothing
from somelab.core.router import Router, Routing
from somelab.core.statistics import RoutingStatistics

Act = Callable[[KeyState, RoutingStatistics, Moment], KeyState]


@dataclass(frozen=True)
class Glimpse:
    """The state after a step, and what the step saw."""

    state: KeyState
    routing: Routing
    count_E: Tensor


class World:
    """Keys and the rules that act on them. `read` is one optimizer step: route, collect, apply, forget."""

    def __init__(
        self,
        keys_ED: Tensor,
        gravity: GravityConfig,
        rules: Sequence[Act],
        *,
        top_k: int = 1,
        router: RouterConfig | None = None,
    ) -> None:
        num_experts, d_model = keys_ED.shape
        # Smoothing hands the moved keys to the router, so every world ends with it.
        self.settings, self.rules = gravity, [Rule(act) for act in (*rules, smoothing)]
        self.router = Router(d_model, top_k, router or RouterConfig(kind="none"), seed=0, layer=0)
        self.statistics = RoutingStatistics(
            num_experts, d_model, gravity, centre=self.router.config.centre_queries
        )
        none_E = torch.zeros(num_experts)
        self.state = KeyState(
            keys_ED=keys_ED,
            usage_E=none_E,
            mass_E=none_E,
            load_bias_E=none_E,
            query_mean_D=torch.zeros(d_model),
            born_E=torch.full((num_experts,), -1),
            routing_keys_ED=keys_ED,
        )
        self.step = 0

    def route(self, tokens_TD: Tensor) -> Routing:
        state = self.state
        return self.router(tokens_TD, state.routing_keys_ED, state.load_bias_E, state.query_mean_D)

    def read(self, tokens_TD: Tensor, alignment_TE: Tensor | None = None) -> Glimpse:
        """`alignment_TE`: the alignment of each expert's output with each token's error, for credit."""
        routing = self.route(tokens_TD)
        self.statistics.add_(routing, step=self.step, counted_T=None, token_index_T=None)
        if alignment_TE is not None:
            merit_TK = merits(alignment_TE.gather(1, routing.indices_TK), routing.gates_TK)
            self.statistics.add_credit_(routing, merit_TK, step=self.step, counted_T=None, token_index_T=None)
        now = Moment(self.settings, 0, 1, self.step, 0.0, 0, self.state.keys_ED)
        self.state = apply_rules(self.state, self.statistics, now, self.rules)
        glimpse = Glimpse(self.state, routing, self.statistics.count_E.clone())
        self.statistics.zero_()
        self.step += 1
        return glimpse


def on_rim(degrees: float, length: float = 1.0) -> Tensor:
    """A two-dimensional key by its direction and length."""
    angle = math.radians(degrees)
    return torch.tensor([length * math.cos(angle), length * math.sin(angle)])


def ring(degrees: Sequence[float]) -> Tensor:
    """Keys of length 1 in these directions."""
    return torch.stack([on_rim(angle) for angle in degrees])


def arc(num: int, middle: float, spread: float, seed: int) -> Tensor:
    """Tokens whose directions are normal around `middle`, in degrees."""
    draws = torch.randn(num, generator=torch.Generator().manual_seed(seed))
    return ring([middle + spread * float(draw) for draw in draws])
