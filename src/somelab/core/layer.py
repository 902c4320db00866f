"""The SoME layer: router + frozen experts + key store. Forward routes, computes and collects; it moves nothing.

Shape letters: T tokens, D model width, O width of an answer, E experts, K experts per token."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.core.experts import ExpertPool
from somelab.core.gravity import by_depth
from somelab.core.gravity.credit import merits
from somelab.core.keystore import GravityReport, KeyStore
from somelab.core.router import Router, Routing, detached
from somelab.core.seeded import seeded_linear
from somelab.core.seeding import generator
from somelab.core.statistics import RoutingStatistics

if TYPE_CHECKING:
    from somelab.config import ExpertsConfig, GravityConfig, RouterConfig


class LayerOutput(NamedTuple):
    """The answer of a feed-forward block, and how it came about."""

    mixture: Tensor
    """sum_k g_k expert_k(x), behind the mixer where there is one, shaped like x. The block around it adds the residual."""
    query: Tensor
    """[T, D] the query before normalisation, for the next layer's grounding."""
    routing: Routing
    aux_loss: Tensor


class Answered(NamedTuple):
    """A forward pass whose experts wait to be told how well they served."""

    heard_TD: Tensor
    """What they were given."""
    answers_TKO: Tensor | None
    """What they said; None: not kept."""
    routing: Routing
    step: int
    counted_T: Tensor | None
    token_index_T: Tensor | None


class SomeLayer(nn.Module):
    """A pool of frozen experts that tokens find by their keys.

    After backward, once per optimizer step, `apply_gravity_` moves the keys. Evaluation leaves every buffer as it is."""

    def __init__(
        self,
        d_model: int,
        experts: ExpertsConfig,
        router: RouterConfig,
        gravity: GravityConfig,
        *,
        layer: int = 0,
        num_layers: int = 1,
        seed: int = 0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        moving = gravity.keys == "moved" and not by_depth(gravity.frozen_layers, layer, num_layers)
        self.experts = ExpertPool(d_model, experts, seed=seed, layer=layer)
        self.router = Router(d_model, experts.top_k, router, seed=seed, layer=layer, bias=bias)
        self.keystore = KeyStore(experts.num_experts, d_model, gravity, seed=seed, layer=layer, num_layers=num_layers)
        self.statistics = RoutingStatistics(
            experts.num_experts, d_model, gravity, moving=moving, centre=router.centre_queries, seed=seed, layer=layer
        )
        gain = torch.full((), experts.output_gain)
        self.output_gain = nn.Parameter(gain) if experts.train_output_gain else experts.output_gain
        self.reads_query = experts.reads == "query"
        self.mixer = seeded_linear(d_model, d_model, bias=bias, rng=generator(seed, "mixer", layer)) if experts.mixer else None
        self.collects = True
        """Whether training forwards feed the statistics. Evaluation never does unless `collects_in_eval` is set too."""
        self.collects_in_eval = False
        self.keeps_answers = True
        """Whether each expert's answer is kept until credit asks for it. Otherwise it is computed once more: time for memory."""
        self._answered: Answered | None = None

    def forward(
        self,
        x: Tensor,
        *,
        counted: Tensor | None = None,
        token_index: Tensor | None = None,
        previous_query: Tensor | None = None,
    ) -> LayerOutput:
        """Route, compute, collect. `counted`: tokens that carry loss; `token_index`: their place in the global batch."""
        x_TD = x.reshape(-1, x.shape[-1])
        counted_T = None if counted is None else counted.reshape(-1)
        store = self.keystore
        routing = self.router(
            x_TD, store.routing_keys_ED, store.load_bias_E, store.query_mean_D, counted_T=counted_T, previous_TD=previous_query
        )
        heard_TD = self._heard(x_TD, routing)
        collecting = self._collecting()
        earns = collecting and self.statistics.wants_credit
        answers_TKO = self.experts.room_for_answers(heard_TD, routing.indices_TK) if earns and self.keeps_answers else None
        mixture_TD = self.experts(heard_TD, routing.indices_TK, routing.gates_TK, answers_TKO) * self.output_gain
        if self.mixer is not None:
            mixture_TD = self.mixer(mixture_TD)
        if collecting:
            index_T = None if token_index is None else token_index.reshape(-1)
            self.statistics.add_(routing, step=store.step, counted_T=counted_T, token_index_T=index_T)
            if earns:
                self._answered = Answered(heard_TD.detach(), answers_TKO, detached(routing), store.step, counted_T, index_T)
        return LayerOutput(mixture_TD.view_as(x), routing.raw_queries_TD, routing, routing.aux_loss)

    def _heard(self, x_TD: Tensor, routing: Routing) -> Tensor:
        """What the experts are given: the token's state, or its query at the size that tokens behind a norm have."""
        if not self.reads_query:
            return x_TD
        return F.rms_norm(routing.raw_queries_TD, routing.raw_queries_TD.shape[-1:]).to(x_TD.dtype)

    def _collecting(self) -> bool:
        if not self.collects or not (self.training or self.collects_in_eval) or not self.keystore.is_due:
            return False
        # Activation recompute runs forward again inside backward: those are the same tokens, not new ones.
        return torch._C._current_graph_task_id() == -1  # pyright: ignore[reportPrivateUsage]

    @torch.no_grad()
    def credit_(self, error: Tensor) -> None:
        """Tell the experts of the last forward pass what their answers were good for. `error`: shaped like x, where the model's
        output should have moved to; broadcast to all layers alike, so that no gradient passes through any."""
        if self._answered is None:
            return
        heard_TD, answers_TKO, routing, step, counted_T, token_index_T = self._answered
        self._answered = None
        merit_TK = self.merits(error, heard_TD, routing, answers_TKO)
        self.statistics.add_credit_(routing, merit_TK, step=step, counted_T=counted_T, token_index_T=token_index_T)

    @torch.no_grad()
    def merits(self, error: Tensor, heard_TD: Tensor, routing: Routing, answers_TKO: Tensor | None = None) -> Tensor:
        """[T, K] what each expert did for a token beyond the mean of those that answered: an answer helps as far as it points at
        the error, a = <M expert(x), error>, M the mixer. `heard_TD`: what the experts were given; `answers_TKO`: what they said,
        where it was kept."""
        if answers_TKO is None:
            answers_TKO = self.experts.room_for_answers(heard_TD, routing.indices_TK)
            self.experts(heard_TD, routing.indices_TK, routing.gates_TK, answers_TKO)
        wanted_TD = error.reshape(-1, error.shape[-1]).to(heard_TD.dtype) * self.output_gain
        if self.mixer is not None:
            wanted_TD = wanted_TD @ self.mixer.weight.to(heard_TD.dtype)
        return merits(self.experts.helpfulness(answers_TKO, wanted_TD), routing.gates_TK)

    def set_progress_(self, step: int, num_steps: int) -> None:
        """Tell the layer where the run is: top-k warm-up, annealing and decay's warm-up follow it."""
        self.keystore.set_progress_(step, num_steps)
        config, top_k = self.router.config, self.router.top_k
        passed = step - config.top_k_warmup * num_steps + 1e-6  # in steps; a hair more, or rounding delays a boundary
        ramp = config.top_k_ramp * num_steps
        if passed < 0:
            self.router.num_active = 1
        elif passed < ramp:
            self.router.num_active = min(top_k, 1 + int(passed / ramp * top_k))
        else:
            self.router.num_active = top_k

    def apply_gravity_(self) -> GravityReport | None:
        """Move the keys by what this step's forwards have seen, then forget it. After backward, once per step.

        Over several ranks, sum the statistics first: `somelab.core.statistics.all_reduce_`."""
        report = self.keystore.apply_(self.statistics)
        self.statistics.zero_()
        self._answered = None
        return report
