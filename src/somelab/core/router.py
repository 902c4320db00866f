"""How a token selects its experts: query network, scores against the keys, top-k, gates.

The router does not modify the keys. Scores are always fp32, so that keys a thousandth apart remain
distinguishable. Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.core.measures import gate_entropy
from somelab.core.seeded import seeded_linear, start_normal_
from somelab.core.seeding import generator

if TYPE_CHECKING:
    from somelab.config import RouterConfig


NORMAL_STD = 0.02
"""Of a query network with `init` normal: that of v5 to v7."""


class Routing(NamedTuple):
    """The experts and gates of each token."""

    indices_TK: Tensor
    """The selected experts, in descending order of the selection score."""
    gates_TK: Tensor
    """Their gates, fp32, with gradient."""
    queries_TD: Tensor
    """The queries as they were compared with the keys, fp32; used by attraction."""
    raw_queries_TD: Tensor
    """The queries before centring and normalisation: used by the running mean and the next layer's
    grounding."""
    aux_loss: Tensor
    """Entropy band and balancing loss, weighted; 0 if both are off."""


def detached(routing: Routing) -> Routing:
    """The same detached from the graph, so that it can be kept after backward."""
    return Routing(*(part.detach() for part in routing))


class Router(nn.Module):
    """The query network, scores, top-k and gates. `num_active` experts are selected per token: K, or fewer
    during the warm-up."""

    def __init__(
        self, d_model: int, top_k: int, config: RouterConfig, *, seed: int, layer: int, bias: bool = True
    ) -> None:
        super().__init__()
        self.config = config
        self.top_k = self.num_active = top_k
        hidden = round(d_model * config.width)
        widths = {"none": (), "linear": (d_model, d_model), "mlp": (d_model, hidden, d_model)}[config.kind]
        rng = generator(seed, "router", layer)
        self.linears = nn.ModuleList(seeded_linear(i, o, bias=bias, rng=rng) for i, o in pairwise(widths))
        if config.init == "normal":
            for linear in self.linears:
                assert isinstance(linear, nn.Linear)
                start_normal_(linear, NORMAL_STD, rng)
        self.over_run = config.temperature_over_run
        self.current_temperature = self.over_run[0] if self.over_run else config.temperature
        self.dropout = nn.Dropout(config.dropout)
        start = torch.tensor(math.log(config.temperature))
        self.log_temperature = nn.Parameter(start) if config.learnable_temperature else None

    def temperature(self) -> Tensor | float:
        """The divisor of the scores: the learned or configured one; in evaluation `eval_temperature` takes
        precedence."""
        if not self.training and self.config.eval_temperature is not None:
            return self.config.eval_temperature
        if self.over_run is not None:
            return self.current_temperature if self.training else self.over_run[-1]
        return self.config.temperature if self.log_temperature is None else self.log_temperature.exp()

    def set_progress_(self, step: int, num_steps: int) -> None:
        """Select the temperature of this part of the run."""
        if self.over_run is not None:
            part = min(len(self.over_run) - 1, step * len(self.over_run) // max(1, num_steps))
            self.current_temperature = self.over_run[part]

    def query(self, x_TD: Tensor, previous_TD: Tensor | None) -> Tensor:
        """q = query_network(x), plus a share of the previous layer's query if the router is grounded."""
        query_TD = x_TD
        if self.config.kind == "linear":
            query_TD = self.dropout(_linear(x_TD, self.linears[0]))
        elif self.config.kind == "mlp":
            query_TD = _linear(self.dropout(F.gelu(_linear(x_TD, self.linears[0]))), self.linears[1])
        if self.config.grounding and previous_TD is not None:
            query_TD = query_TD + self.config.grounding * previous_TD
        return query_TD

    def forward(
        self,
        x_TD: Tensor,
        keys_ED: Tensor,
        load_bias_E: Tensor,
        query_mean_D: Tensor,
        *,
        counted_T: Tensor | None = None,
        previous_TD: Tensor | None = None,
    ) -> Routing:
        """Select experts and compute gates. `load_bias_E` shifts the selection, never the gates; losses count
        `counted_T` only."""
        raw_TD = self._raw_queries(x_TD, previous_TD)
        with torch.autocast(raw_TD.device.type, enabled=False):
            query_TD = raw_TD.float() if self.config.gradient else raw_TD.detach().float()
            if self.config.centre_queries:
                query_TD = query_TD - query_mean_D
            if self.config.scoring == "cosine":
                query_TD = F.normalize(query_TD, dim=1)
            scores_TE = query_TD @ keys_ED.T
            indices_TK = (scores_TE.detach() + load_bias_E).topk(self.num_active, dim=1).indices
            gates_TK = self._gates(scores_TE.gather(1, indices_TK))
            aux_loss = self._aux_loss(scores_TE, indices_TK, gates_TK, counted_T)
        return Routing(indices_TK, gates_TK, query_TD, raw_TD, aux_loss)

    def _raw_queries(self, x_TD: Tensor, previous_TD: Tensor | None) -> Tensor:
        """The query network in the configured precision."""
        if self.config.precision == "model":
            return self.query(x_TD, previous_TD)
        with torch.autocast(x_TD.device.type, enabled=False):
            return self.query(x_TD.float(), previous_TD)

    def _gates(self, chosen_TK: Tensor) -> Tensor:
        scaled_TK = chosen_TK / self.temperature()
        if self.config.gates == "sigmoid":
            return 2 * torch.sigmoid(scaled_TK) / chosen_TK.shape[1]
        return scaled_TK.softmax(dim=1)

    def _aux_loss(
        self, scores_TE: Tensor, indices_TK: Tensor, gates_TK: Tensor, counted_T: Tensor | None
    ) -> Tensor:
        band, balance = self.config.entropy_band, self.config.balance_loss
        loss = scores_TE.new_zeros(())
        if not self.training or (band is None and not balance):
            return loss
        weight_T = torch.ones_like(scores_TE[:, 0]) if counted_T is None else counted_T.to(scores_TE.dtype)
        weight_T = weight_T / weight_T.sum().clamp(min=1)
        # One gate has no entropy, so the band waits until the top-k warm-up is over.
        if band is not None and self.num_active == self.top_k:
            entropy = (gate_entropy(gates_TK) * weight_T).sum()
            outside = (band[0] - entropy).clamp(min=0) + (entropy - band[1]).clamp(min=0)
            loss = loss + self.config.entropy_band_weight * outside.square()
        if balance:
            loss = loss + balance * balancing_loss(scores_TE / self.temperature(), indices_TK, weight_T)
        return loss


def _linear(x: Tensor, layer: nn.Module) -> Tensor:
    """A layer of the query network, whose weights may be stored in another type than the compute type."""
    weight, bias = layer.weight, layer.bias
    assert isinstance(weight, Tensor)
    return F.linear(x, weight.to(x.dtype), bias.to(x.dtype) if isinstance(bias, Tensor) else None)


def balancing_loss(logits_TE: Tensor, indices_TK: Tensor, weight_T: Tensor) -> Tensor:
    """The classic load-balancing loss, E * sum_i f_i P_i: share of selections times mean probability; 1 when
    both are uniform.

    `weight_T` are the tokens' shares of the batch and add up to 1."""
    num_experts, top_k = logits_TE.shape[1], indices_TK.shape[1]
    share_TK = (weight_T / top_k)[:, None].expand_as(indices_TK)
    load_E = logits_TE.new_zeros(num_experts).index_add(0, indices_TK.reshape(-1), share_TK.reshape(-1))
    probability_E = (logits_TE.softmax(dim=1) * weight_T[:, None]).sum(dim=0)
    return num_experts * (load_E * probability_E).sum()
