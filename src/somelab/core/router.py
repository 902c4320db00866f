"""How a token selects its experts: query network, scores against the keys, top-k, gates.

The router does not modify the keys. Scores are always fp32, so that keys a thousandth apart remain
distinguishable. Shape letters: T tokens, D width of model or key, E experts, K experts per token."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.core.measures import gate_entropy
from somelab.core.rows import unit_rows
from somelab.core.search import SubKeys, search
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
    """The output of the query network: used by experts that read the query, and by the next layer's
    grounding."""
    aux_loss: Tensor
    """Entropy band and balancing loss, weighted; 0 if both are off."""
    projected_TD: Tensor | None = None
    """The raw queries in the width of the keys, where that is another one (`key_dim`)."""

    @property
    def uncentred_TD(self) -> Tensor:
        """The queries before centring and normalisation, in the width of the keys: for the running mean."""
        return self.raw_queries_TD if self.projected_TD is None else self.projected_TD


def detached(routing: Routing) -> Routing:
    """The same detached from the graph, so that it can be kept after backward."""
    return Routing(**{name: part.detach() for name, part in routing._asdict().items() if part is not None})


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
        self.projection = (
            None
            if config.key_dim is None
            else seeded_linear(d_model, config.key_dim, bias=False, rng=generator(seed, "key_dim", layer))
        )
        if self.projection is not None and not config.gradient:
            self.projection.requires_grad_(False)  # nothing would train it: a random projection
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
        keys: Tensor | SubKeys,
        load_bias: Tensor,
        query_mean_D: Tensor,
        *,
        counted_T: Tensor | None = None,
        previous_TD: Tensor | None = None,
    ) -> Routing:
        """Select experts and compute gates. `load_bias`, per expert or per sub-key, shifts the selection,
        never the gates; losses count `counted_T` only.

        With product keys both halves of a query have length 1 (cosine), and the score of an expert is the
        mean of their two cosines."""
        raw_TD, projected_TD = self._raw_queries(x_TD, previous_TD)
        uncentred_TD = raw_TD if projected_TD is None else projected_TD
        product, cosine = isinstance(keys, SubKeys), self.config.scoring == "cosine"
        with torch.autocast(raw_TD.device.type, enabled=False):
            query_TD = uncentred_TD.float() if self.config.gradient else uncentred_TD.detach().float()
            centre_D = query_mean_D if self.config.centre_queries else None
            if cosine:
                query_TD = unit_rows(query_TD, centre_D, parts=2 if product else 1)
            elif centre_D is not None:
                query_TD = query_TD - centre_D
            balances = self.training and bool(self.config.balance_loss)
            found = search(query_TD, keys, load_bias, self.num_active, tables=balances)
            scale = 0.5 if cosine and product else 1.0
            gates_TK = self._gates(scale * found.scores_TK if product else found.scores_TK)
            tables = [(scale * scores if product else scores, indices) for scores, indices in found.tables]
            aux_loss = self._aux_loss(tables, gates_TK, counted_T)
        return Routing(found.indices_TK, gates_TK, query_TD, raw_TD, aux_loss, projected_TD)

    def _raw_queries(self, x_TD: Tensor, previous_TD: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The query network in the configured precision, and its projection to the width of the keys."""
        exact = self.config.precision == "fp32"
        with torch.autocast(x_TD.device.type, enabled=False) if exact else contextlib.nullcontext():
            raw_TD = self.query(x_TD.float() if exact else x_TD, previous_TD)
            return raw_TD, None if self.projection is None else _linear(raw_TD, self.projection)

    def _gates(self, chosen_TK: Tensor) -> Tensor:
        scaled_TK = chosen_TK / self.temperature()
        if self.config.gates == "sigmoid":
            return 2 * torch.sigmoid(scaled_TK) / chosen_TK.shape[1]
        return scaled_TK.softmax(dim=1)

    def _aux_loss(
        self, tables: Sequence[tuple[Tensor, Tensor]], gates_TK: Tensor, counted_T: Tensor | None
    ) -> Tensor:
        """`tables`: scores of all keys and which were selected, or one such pair for each half of the
        query."""
        band, balance = self.config.entropy_band, self.config.balance_loss
        loss = gates_TK.new_zeros(())
        if not self.training or (band is None and not balance):
            return loss
        weight_T = torch.ones_like(gates_TK[:, 0]) if counted_T is None else counted_T.to(gates_TK.dtype)
        weight_T = weight_T / weight_T.sum().clamp(min=1)
        # One gate has no entropy, so the band waits until the top-k warm-up is over.
        if band is not None and self.num_active == self.top_k:
            entropy = (gate_entropy(gates_TK) * weight_T).sum()
            outside = (band[0] - entropy).clamp(min=0) + (entropy - band[1]).clamp(min=0)
            loss = loss + self.config.entropy_band_weight * outside.square()
        if balance:
            for scores_TE, indices_TK in tables:
                logits_TE = scores_TE / self.temperature()
                loss = loss + balance / len(tables) * balancing_loss(logits_TE, indices_TK, weight_T)
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
