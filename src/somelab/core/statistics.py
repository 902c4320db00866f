"""The statistics that forward collects for gravity: n, m, S, C over the tokens of one optimizer step that
carry loss.

All of them are sums, so micro-batches and ranks are added. Beside these four: the weight and sum for
attraction (equal to n and S unless only winners or gates count), the sum of queries weighted by merit (for
credit, added when the error is known), the sum of raw queries (for centring), and a sample of the step's
queries (for respawn), selected by a random draw per token so that any split of the batch keeps the same ones.
Shape letters: T tokens, D model width, E experts, K experts per token, Q kept queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from somelab.core.fp32 import device_only
from somelab.core.gravity import ORDER, Rule, Setup, parts_read
from somelab.core.measures import gate_entropy
from somelab.core.pairs import DENSE_UP_TO, PairCounts
from somelab.core.rows import add_weighted_
from somelab.core.seeding import token_draws

if TYPE_CHECKING:
    from somelab.config import GravityConfig
    from somelab.core.router import Routing


class KeptQueries:
    """A sample of the step's queries, one for each key that could need it: those with the lowest draws, in
    ascending order."""

    def __init__(self, limit: int, d_model: int) -> None:
        self.limit = limit
        self.draw_Q = torch.zeros(0, dtype=torch.float64)
        self.query_QD = torch.zeros(0, d_model)

    def add_(self, draw_T: Tensor, query_TD: Tensor) -> None:
        draw, query = torch.cat([self.draw_Q, draw_T]), torch.cat([self.query_QD, query_TD])
        order = draw.argsort()[: self.limit]
        self.draw_Q, self.query_QD = draw[order], query[order]

    def zero_(self) -> None:
        self.draw_Q, self.query_QD = self.draw_Q[:0], self.query_QD[:0]


class RoutingStatistics(nn.Module):
    """Accumulators of one layer. Plain tensors held as non-persistent buffers: they follow the model's
    device, and a checkpoint, taken between steps, does not need them. Only what the active rules need is
    collected."""

    count_E: Tensor
    mass_E: Tensor
    pull_weight_E: Tensor
    pull_sum_ED: Tensor
    credit_ED: Tensor
    credit_noise_E: Tensor
    raw_query_sum_D: Tensor
    num_tokens: Tensor
    gate_entropy: Tensor

    def __init__(
        self,
        num_experts: int,
        d_model: int,
        config: GravityConfig,
        *,
        moving: bool = True,
        centre: bool = False,
        seed: int = 0,
        layer: int = 0,
        order: Sequence[Rule] | None = None,
        repeats: bool = False,
    ) -> None:
        """`moving`: whether keys move in this layer; `centre`: whether its router centres queries; `order`:
        the rules; `repeats`: whether a token may select the same key several times, as with sub-keys."""
        super().__init__()
        self.config, self.seed, self.layer, self.centre = config, seed, layer, centre
        parts = parts_read(ORDER if order is None else order, Setup(config, centre), moving=moving)
        self.wants_queries = "queries" in parts
        self.wants_credit = "credit" in parts
        self.wants_credit_noise = "credit_noise" in parts
        self.wants_pairs = "pairs" in parts
        self.wants_kept = "kept" in parts
        self.wants_raw_queries = "raw_queries" in parts
        self.additive: list[str] = []
        self._add_buffer("count_E", num_experts)
        self._add_buffer("mass_E", num_experts)
        self._add_buffer("num_tokens")
        self._add_buffer("gate_entropy")
        self._add_buffer("raw_query_sum_D", d_model if self.wants_raw_queries else 0)
        self._add_buffer("pull_weight_E", num_experts if self.wants_queries else 0)
        self._add_buffer("pull_sum_ED", num_experts if self.wants_queries else 0, d_model)
        self._add_buffer("credit_ED", num_experts if self.wants_credit else 0, d_model)
        self._add_buffer("credit_noise_E", num_experts if self.wants_credit_noise else 0)
        self.kept = KeptQueries(num_experts, d_model)
        sparse = config.pairs == "sparse" or (config.pairs == "auto" and num_experts > DENSE_UP_TO)
        self.pairs = PairCounts(num_experts if self.wants_pairs else 0, sparse=sparse, repeats=repeats)
        self._is_empty = self.count_E.is_meta

    def parts(self) -> list[RoutingStatistics]:
        """Everything that is summed over ranks: this."""
        return [self]

    @property
    def lists_pairs(self) -> bool:
        return self.wants_pairs and self.pairs.sparse

    def _add_buffer(self, name: str, *shape: int) -> None:
        self.additive.append(name)
        self.register_buffer(name, torch.zeros(shape), persistent=False)

    def _apply(self, fn: Any, recurse: bool = True) -> RoutingStatistics:
        move = device_only(fn)
        self.materialize_()
        # Moves the buffers; tensors of variable length are no buffers and are moved here.
        super()._apply(move, recurse)
        self.pairs.count, self.pairs.code_P = move(self.pairs.count), move(self.pairs.code_P)
        self.kept.draw_Q, self.kept.query_QD = move(self.kept.draw_Q), move(self.kept.query_QD)
        self.materialize_()
        return self

    def materialize_(self) -> None:
        """Zero what was created on the meta device once it has memory: `to_empty` and `from_pretrained` leave
        buffers that no checkpoint fills uninitialised."""
        if not self._is_empty or self.count_E.is_meta:
            return
        self._is_empty, device = False, self.count_E.device
        # Not buffers, so a library that loads tensors by name does not fill them.
        for tensors in (self.pairs, self.kept):
            for name, value in vars(tensors).items():
                if isinstance(value, Tensor):
                    setattr(tensors, name, torch.zeros(value.shape, dtype=value.dtype, device=device))
        self.zero_()

    @torch.no_grad()
    def add_(
        self, routing: Routing, *, step: int, counted_T: Tensor | None, token_index_T: Tensor | None
    ) -> None:
        """Add the tokens of one forward pass."""
        self.materialize_()
        indices_TK = routing.indices_TK
        weight_T = self._weights(routing, step, counted_T, token_index_T)
        gates_TK = routing.gates_TK.detach().float()
        ones_TK = torch.ones_like(gates_TK)
        entropy_T = gate_entropy(gates_TK)
        self.gate_entropy.add_(entropy_T.sum() if weight_T is None else entropy_T @ weight_T)
        if weight_T is not None:
            gates_TK, ones_TK = gates_TK * weight_T[:, None], ones_TK * weight_T[:, None]
        flat = indices_TK.reshape(-1)
        self.count_E.index_add_(0, flat, ones_TK.reshape(-1))
        self.mass_E.index_add_(0, flat, gates_TK.reshape(-1))
        self.num_tokens.add_(indices_TK.shape[0] if weight_T is None else weight_T.sum())
        if self.wants_raw_queries:
            raw_TD = routing.uncentred_TD.detach().float()
            self.raw_query_sum_D.add_(raw_TD.sum(dim=0) if weight_T is None else weight_T @ raw_TD)
        if self.wants_queries:
            self._add_queries_(routing, ones_TK, gates_TK, weighted=weight_T is not None)
        if self.wants_pairs:
            self.pairs.add_(indices_TK, weight_T)
        if self.wants_kept:
            self._keep_queries_(routing.queries_TD.detach(), weight_T, step, token_index_T)

    @torch.no_grad()
    def add_credit_(
        self,
        routing: Routing,
        merit_TK: Tensor,
        *,
        step: int,
        counted_T: Tensor | None,
        token_index_T: Tensor | None,
    ) -> None:
        """Add the merits of the experts of one forward pass, once they are known."""
        weight_T = self._weights(routing, step, counted_T, token_index_T)
        merit_TK = merit_TK if weight_T is None else merit_TK * weight_T[:, None]
        queries_TD = routing.queries_TD.detach()
        add_weighted_(self.credit_ED, routing.indices_TK, merit_TK, queries_TD)
        if self.wants_credit_noise:
            square_TK = merit_TK.square() * queries_TD.square().sum(dim=1, keepdim=True)
            self.credit_noise_E.index_add_(0, routing.indices_TK.reshape(-1), square_TK.reshape(-1))

    def _weights(
        self, routing: Routing, step: int, counted_T: Tensor | None, token_index_T: Tensor | None
    ) -> Tensor | None:
        """1 for tokens that count, 0 for others; None: all count."""
        weight_T = None if counted_T is None else counted_T.float()
        if self.config.token_fraction < 1:
            index_T = _index_or_range(token_index_T, routing.indices_TK)
            drawn_T = (
                token_draws(self.seed, "subsample", self.layer, step, index_T) < self.config.token_fraction
            )
            weight_T = drawn_T.float() if weight_T is None else weight_T * drawn_T
        return weight_T

    def _add_queries_(self, routing: Routing, ones_TK: Tensor, gates_TK: Tensor, *, weighted: bool) -> None:
        by = self.config.attraction_by
        slots = 1 if by == "winner" else routing.indices_TK.shape[1]
        share_TK = gates_TK if by == "gate" else ones_TK
        queries_TD = routing.queries_TD.detach()
        for slot in range(slots):
            chosen_T, share_T = routing.indices_TK[:, slot], share_TK[:, slot]
            self.pull_weight_E.index_add_(0, chosen_T, share_T)
            plain = by != "gate" and not weighted
            self.pull_sum_ED.index_add_(0, chosen_T, queries_TD if plain else queries_TD * share_T[:, None])

    def _keep_queries_(
        self, queries_TD: Tensor, weight_T: Tensor | None, step: int, token_index_T: Tensor | None
    ) -> None:
        draw_T = token_draws(
            self.seed, "respawn", self.layer, step, _index_or_range(token_index_T, queries_TD)
        )
        if weight_T is not None:
            queries_TD, draw_T = queries_TD[weight_T > 0], draw_T[weight_T > 0]
        self.kept.add_(draw_T, queries_TD)

    def zero_(self) -> None:
        """Reset to zero, in place."""
        for name in self.additive:
            getattr(self, name).zero_()
        self.pairs.zero_()
        self.kept.zero_()


def _index_or_range(token_index_T: Tensor | None, like_T: Tensor) -> Tensor:
    return torch.arange(like_T.shape[0], device=like_T.device) if token_index_T is None else token_index_T


def all_reduce_(statistics: Sequence[RoutingStatistics], group: dist.ProcessGroup | None = None) -> None:
    """Sum the statistics of all layers over the ranks in one collective; lists (sparse pairs, kept queries)
    are gathered."""
    parts = [getattr(s, name) for s in statistics for name in s.additive]
    parts += [s.pairs.count for s in statistics if not s.pairs.sparse]
    flat = torch.cat([part.reshape(-1) for part in parts])
    dist.all_reduce(flat, group=group)
    for part, summed in zip(parts, flat.split([part.numel() for part in parts]), strict=True):
        part.copy_(summed.view_as(part))
    _gather_lists_([s for s in statistics if s.wants_kept or s.lists_pairs], group)


def _gather_lists_(listed: Sequence[RoutingStatistics], group: dist.ProcessGroup | None) -> None:
    if not listed:
        return
    none = torch.zeros(0)
    mine = [
        (
            s.kept.draw_Q.cpu(),
            s.kept.query_QD.cpu(),
            *((s.pairs.code_P.cpu(), s.pairs.count.cpu()) if s.lists_pairs else (none, none)),
        )
        for s in listed
    ]
    everyone: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(everyone, mine, group=group)
    for position, s in enumerate(listed):
        draws, queries, codes, counts = (
            torch.cat([rank[position][i] for rank in everyone]).to(s.count_E.device) for i in range(4)
        )
        s.kept.zero_()
        s.kept.add_(draws, queries)
        if s.lists_pairs:
            s.pairs.zero_()
            s.pairs.merge_(codes, counts)
