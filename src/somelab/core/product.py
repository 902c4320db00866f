"""Keys and statistics of a layer whose keys are pairs of sub-keys, so that a pool may have a million experts.

Each half of the query has a key store of its own, with S = sqrt(E) sub-keys, and the rules act on each as on
the keys of a flat layer with S experts: a sub-key counts, sums and is credited for all experts of its row (or
column) that tokens selected. So attraction moves a sub-key towards the mean of its half of their queries,
load bias levels rows and columns, credit adds up the merits of a row. Nothing is of size E but counts.
Shape letters: T tokens, D width of a key, H half of it, E experts, S sub-keys of a half, K experts per token,
X some experts."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.core.fp32 import device_only
from somelab.core.gravity.rule import Rule
from somelab.core.gravity.usage import averaged
from somelab.core.keystore import Addresses, GravityReport, KeyStore
from somelab.core.measures import CROWDING_SAMPLE, spread
from somelab.core.router import Routing
from somelab.core.search import SubKeys, halves_of, search
from somelab.core.seeding import derive
from somelab.core.statistics import RoutingStatistics

if TYPE_CHECKING:
    from somelab.config import GravityConfig


class ProductStatistics(nn.Module):
    """Routing statistics of the experts (counts alone) and of both halves' sub-keys."""

    def __init__(
        self,
        num_experts: int,
        width: int,
        config: GravityConfig,
        *,
        moving: bool = True,
        centre: bool = False,
        seed: int = 0,
        layer: int = 0,
        order: Sequence[Rule] | None = None,
    ) -> None:
        super().__init__()
        place: dict[str, Any] = {"seed": seed, "layer": layer}
        self.num_sub_keys = math.isqrt(num_experts)
        self.experts = RoutingStatistics(num_experts, 0, config, order=(), **place)
        self.halves = nn.ModuleList(
            RoutingStatistics(
                self.num_sub_keys,
                width // 2,
                config,
                moving=moving,
                centre=centre,
                order=order,
                repeats=True,
                **place,
            )
            for _ in range(2)
        )

    def of_halves(self) -> tuple[RoutingStatistics, RoutingStatistics]:
        first, second = self.halves
        assert isinstance(first, RoutingStatistics)
        assert isinstance(second, RoutingStatistics)
        return first, second

    def parts(self) -> list[RoutingStatistics]:
        """Everything that is summed over ranks."""
        return [self.experts, *self.of_halves()]

    @property
    def wants_credit(self) -> bool:
        return self.of_halves()[0].wants_credit

    @property
    def num_tokens(self) -> Tensor:
        return self.experts.num_tokens

    @property
    def count_E(self) -> Tensor:
        return self.experts.count_E

    @property
    def mass_E(self) -> Tensor:
        return self.experts.mass_E

    def add_(
        self, routing: Routing, *, step: int, counted_T: Tensor | None, token_index_T: Tensor | None
    ) -> None:
        """Add the tokens of one forward pass."""
        place: dict[str, Any] = {"step": step, "counted_T": counted_T, "token_index_T": token_index_T}
        self.experts.add_(routing, **place)
        for half, seen in zip(self.of_halves(), split(routing, self.num_sub_keys), strict=True):
            half.add_(seen, **place)

    def add_credit_(
        self,
        routing: Routing,
        merit_TK: Tensor,
        *,
        step: int,
        counted_T: Tensor | None,
        token_index_T: Tensor | None,
    ) -> None:
        """Add the merits of the experts of one forward pass to their rows and columns."""
        place: dict[str, Any] = {"step": step, "counted_T": counted_T, "token_index_T": token_index_T}
        for half, seen in zip(self.of_halves(), split(routing, self.num_sub_keys), strict=True):
            half.add_credit_(seen, merit_TK, **place)

    def zero_(self) -> None:
        for part in self.parts():
            part.zero_()


def split(routing: Routing, num_sub_keys: int) -> tuple[Routing, Routing]:
    """The routing as each half of the keys has it: rows (columns) of the selected experts, and the first
    (second) half of every query."""
    sub_keys = (routing.indices_TK // num_sub_keys, routing.indices_TK % num_sub_keys)
    queries, uncentred = halves_of(routing.queries_TD), halves_of(routing.uncentred_TD)
    first, second = (
        routing._replace(indices_TK=sub_TK, queries_TD=query_TH, raw_queries_TD=raw_TH, projected_TD=None)
        for sub_TK, query_TH, raw_TH in zip(sub_keys, queries, uncentred, strict=True)
    )
    return first, second


class ProductKeyStore(nn.Module):
    """Two key stores, one for each half of the query, and the usage of every expert. The key of expert
    i S + j is the pair of sub-key i of the first half and sub-key j of the second."""

    usage_E: Tensor
    mass_E: Tensor

    def __init__(
        self,
        num_experts: int,
        width: int,
        config: GravityConfig,
        *,
        seed: int,
        layer: int = 0,
        num_layers: int = 1,
        order: Sequence[Rule] | None = None,
    ) -> None:
        super().__init__()
        self.config, self.num_experts, self.width = config, num_experts, width
        self.num_sub_keys = math.isqrt(num_experts)
        assert self.num_sub_keys**2 == num_experts, "config/router.py checks this"
        assert width % 2 == 0, "config/router.py checks this"
        self.halves = nn.ModuleList(
            KeyStore(
                self.num_sub_keys,
                width // 2,
                config,
                seed=derive(seed, "half of the keys", half),
                layer=layer,
                num_layers=num_layers,
                order=order,
            )
            for half in range(2)
        )
        for name in ("usage_E", "mass_E"):
            self.register_buffer(name, torch.zeros(num_experts))

    def _apply(self, fn: Any, recurse: bool = True) -> ProductKeyStore:
        was_empty = self.usage_E.is_meta
        super()._apply(device_only(fn), recurse)
        if was_empty and not self.usage_E.is_meta:
            self.usage_E.zero_()
            self.mass_E.zero_()
        return self

    def stores(self) -> list[KeyStore]:
        """The stores whose keys the rules move: one for each half."""
        return [half for half in self.halves if isinstance(half, KeyStore)]

    def addresses(self) -> Addresses:
        """What the router compares queries with."""
        first, second = self.stores()
        return Addresses(
            SubKeys(first.routing_keys_ED, second.routing_keys_ED),
            torch.cat([first.load_bias_E, second.load_bias_E]),
            torch.cat([first.query_mean_D, second.query_mean_D]),
        )

    def keys_of(self, experts_X: Tensor) -> Tensor:
        """[X, D] the keys of some experts, sub-key beside sub-key."""
        first, second = self.stores()
        sub_keys = (experts_X // self.num_sub_keys, experts_X % self.num_sub_keys)
        return torch.cat([first.keys_of(sub_keys[0]), second.keys_of(sub_keys[1])], dim=1)

    def born_of(self, experts_X: Tensor) -> Tensor:
        """[X] the step at which one of an expert's two sub-keys was last respawned; -1 if never."""
        first, second = self.stores()
        return torch.maximum(
            first.born_of(experts_X // self.num_sub_keys), second.born_of(experts_X % self.num_sub_keys)
        )

    @property
    def keys_ED(self) -> Tensor:
        """[E, D] all keys, made anew: for small pools."""
        return self.keys_of(torch.arange(self.num_experts, device=self.usage_E.device))

    @property
    def routing_keys_ED(self) -> Tensor:
        """[E, D] the keys that queries are compared with, made anew: for small pools."""
        first_SH, second_SH = (store.routing_keys_ED.detach() for store in self.stores())
        size = self.num_sub_keys
        return torch.cat([first_SH.repeat_interleave(size, dim=0), second_SH.repeat(size, 1)], dim=1)

    @property
    def respawns(self) -> Tensor:
        """Sub-keys respawned so far."""
        first, second = self.stores()
        return first.respawns + second.respawns

    def key_lengths(self) -> Tensor:
        """[2 S] the lengths of the sub-keys."""
        return torch.cat([store.key_lengths() for store in self.stores()])

    def crowding(self, top_k: int) -> float:
        """Mean over experts, at most a sample of them, of the mean over both halves of the cosines to the K-1
        nearest keys."""
        neighbours = min(top_k - 1, self.num_experts - 1)
        if neighbours < 1:
            return 0.0
        units = SubKeys(*(F.normalize(store.routing_keys_ED.detach(), dim=1) for store in self.stores()))
        expert_X = spread(self.num_experts, CROWDING_SAMPLE).to(self.usage_E.device)
        sub_keys = (expert_X // self.num_sub_keys, expert_X % self.num_sub_keys)
        query_XD = torch.cat([unit_SH[sub] for unit_SH, sub in zip(units, sub_keys, strict=True)], dim=1)
        none = torch.zeros(2 * self.num_sub_keys, device=expert_X.device)
        nearest_first = search(query_XD, units, none, neighbours + 1).scores_TK / 2
        return float(nearest_first[:, 1:].mean())

    @property
    def step(self) -> int:
        return self.stores()[0].step

    @property
    def is_due(self) -> bool:
        """Whether the rules act at the end of this step."""
        return self.stores()[0].is_due

    def set_progress_(self, step: int, num_steps: int) -> None:
        for store in self.stores():
            store.set_progress_(step, num_steps)

    @torch.no_grad()
    def apply_(self, statistics: ProductStatistics) -> GravityReport | None:
        """Move the sub-keys of both halves by their statistics of the step, and count the step. None if the
        rules were not due."""
        reports = [
            store.apply_(seen) for store, seen in zip(self.stores(), statistics.of_halves(), strict=True)
        ]
        first, second = reports
        if first is None or second is None:
            return None
        seen = statistics.experts
        self.usage_E.copy_(averaged(self.usage_E, seen.count_E, self.config))
        self.mass_E.copy_(averaged(self.mass_E, seen.mass_E, self.config))
        return GravityReport(
            step=first.step,
            count_E=seen.count_E.clone(),
            mass_E=seen.mass_E.clone(),
            gate_entropy=first.gate_entropy,
            mean_drift=(first.mean_drift + second.mean_drift) / 2,
            max_drift=max(first.max_drift, second.max_drift),
            reborn=(*first.reborn, *(self.num_sub_keys + sub_key for sub_key in second.reborn)),
        )

    def snapshot(self) -> dict[str, Tensor]:
        """A copy of all state, for `restore_`."""
        return {name: value.detach().clone() for name, value in self.state_dict().items()}

    @torch.no_grad()
    def restore_(self, snapshot: dict[str, Tensor]) -> None:
        """Restore a snapshot bit for bit."""
        self.load_state_dict(snapshot)

    def digest(self) -> str:
        """Hash of every bit of the store."""
        state = hashlib.blake2b(digest_size=16)
        for store in self.stores():
            state.update(store.digest().encode())
        for use_E in (self.usage_E, self.mass_E):
            state.update(use_E.cpu().numpy().tobytes())
        return state.hexdigest()
