"""The key store: the key vectors of the experts, their usage, and the one place that moves them.

Buffers change in place and only here. Everything is fp32, whatever the rest runs in.
Shape letters: D model width, E experts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.core.fp32 import device_only
from somelab.core.gravity import ORDER, KeyState, Moment, Rule, apply_rules, extra_names
from somelab.core.measures import crowding
from somelab.core.search import SubKeys
from somelab.core.seeding import generator
from somelab.core.statistics import RoutingStatistics
from somelab.errors import ConfigError, nearest

if TYPE_CHECKING:
    from somelab.config import GravityConfig


@dataclass(frozen=True)
class GravityReport:
    """What one step did to a layer's keys."""

    step: int
    count_E: Tensor
    """Times selected in this step."""
    mass_E: Tensor
    """Gate mass in this step."""
    gate_entropy: float
    """Mean entropy of a token's gates in nats."""
    mean_drift: float
    """Mean distance that a key moved, respawned keys left out."""
    max_drift: float
    reborn: tuple[int, ...]
    """Experts whose keys were respawned in this step; of product keys, the sub-keys, the first half's
    first."""


class Addresses(NamedTuple):
    """The keys, the offset of the selection, and what is subtracted from queries."""

    keys: Tensor | SubKeys
    load_bias: Tensor
    query_mean_D: Tensor


class KeyStore(nn.Module):
    """Keys as buffers, moved by rules. Under `keys = gradient` they are one trained Parameter and the rules
    that move them are off."""

    keys_ED: Tensor
    usage_E: Tensor
    mass_E: Tensor
    load_bias_E: Tensor
    query_mean_D: Tensor
    born_E: Tensor
    average_ED: Tensor
    respawns: Tensor

    def __init__(
        self,
        num_experts: int,
        d_model: int,
        config: GravityConfig,
        *,
        seed: int,
        layer: int = 0,
        num_layers: int = 1,
        order: Sequence[Rule] | None = None,
    ) -> None:
        """`order`: the rules in the order in which they act; None: somelab's own."""
        super().__init__()
        self.config, self.seed, self.layer, self.num_layers = config, seed, layer, num_layers
        self.order = order
        self.step = 0
        self.progress = 0.0
        keys_ED = torch.empty(num_experts, d_model)
        if not keys_ED.is_meta:  # no rule acts where parameters are only counted
            check_extra(config, ORDER if order is None else order)
        if config.keys == "gradient":
            self.keys_ED = nn.Parameter(keys_ED)
        else:
            self.register_buffer("keys_ED", keys_ED)
        for name, shape in (("usage_E", num_experts), ("mass_E", num_experts), ("load_bias_E", num_experts)):
            self.register_buffer(name, torch.zeros(shape))
        self.register_buffer("query_mean_D", torch.zeros(d_model))
        self.register_buffer("born_E", torch.full((num_experts,), -1))
        self.register_buffer("respawns", torch.zeros((), dtype=torch.int64))
        # Without key_ema routing uses the keys themselves and this buffer is empty.
        self.register_buffer("average_ED", torch.empty(num_experts if config.key_ema else 0, d_model))
        self._reset_()

    @torch.no_grad()
    def _reset_(self) -> None:
        """Random unit vectors, with zero usage, never respawned."""
        if self.keys_ED.is_meta:
            return
        for tensor in (self.usage_E, self.mass_E, self.load_bias_E, self.query_mean_D, self.respawns):
            tensor.zero_()
        self.born_E.fill_(-1)
        keys_ED = torch.empty(self.keys_ED.shape, device="cpu").normal_(
            generator=generator(self.seed, "keys", self.layer)
        )
        self.keys_ED.copy_(F.normalize(keys_ED, dim=1))
        if self.config.key_ema:
            self.average_ED.copy_(self.keys_ED)

    def _apply(self, fn: Any, recurse: bool = True) -> KeyStore:
        was_empty = self.keys_ED.is_meta
        super()._apply(device_only(fn), recurse)
        if was_empty:
            self._reset_()  # `to_empty` leaves garbage; a checkpoint that is loaded next overwrites this
        return self

    @property
    def routing_keys_ED(self) -> Tensor:
        """The keys that queries are compared with."""
        return self.average_ED if self.config.key_ema else self.keys_ED

    @property
    def num_experts(self) -> int:
        return self.keys_ED.shape[0]

    @property
    def width(self) -> int:
        """D: the width of a key."""
        return self.keys_ED.shape[1]

    def stores(self) -> list[KeyStore]:
        """The stores whose keys the rules move: this one."""
        return [self]

    def addresses(self) -> Addresses:
        """What the router compares queries with."""
        return Addresses(self.routing_keys_ED, self.load_bias_E, self.query_mean_D)

    def keys_of(self, experts_X: Tensor) -> Tensor:
        """[X, D] the keys of some experts."""
        return self.keys_ED.detach()[experts_X]

    def born_of(self, experts_X: Tensor) -> Tensor:
        """[X] the step at which the keys of some experts were last respawned; -1 if never."""
        return self.born_E[experts_X]

    def key_lengths(self) -> Tensor:
        """[E] the lengths of the keys that queries are compared with."""
        return self.routing_keys_ED.detach().norm(dim=1)

    def crowding(self, top_k: int) -> float:
        """Mean cosine of each key to its K-1 nearest."""
        return crowding(self.routing_keys_ED.detach(), top_k)

    @property
    def is_due(self) -> bool:
        """Whether the rules act at the end of this step (`every`): statistics of other steps are not
        needed."""
        return self.step % self.config.every == 0

    def set_progress_(self, step: int, num_steps: int) -> None:
        """The progress of the run, which annealing and warm-up depend on."""
        self.step = step
        self.progress = min(1.0, step / max(1, num_steps - 1))

    @torch.no_grad()
    def apply_(self, statistics: RoutingStatistics) -> GravityReport | None:
        """Move the keys by the statistics of the step, and count the step. None if the rules were not due."""
        step, due = self.step, self.is_due
        self.step += 1
        if not due:
            return None
        before = self.state()
        now = Moment(self.config, self.layer, self.num_layers, step, self.progress, self.seed, before.keys_ED)
        after = apply_rules(before, statistics, now, self.order)
        reborn = (after.born_E != before.born_E).nonzero()[:, 0]
        drift_E = (after.keys_ED - before.keys_ED).norm(dim=1).index_fill(0, reborn, 0.0)
        self.write_(after)
        self.respawns += reborn.numel()
        return GravityReport(
            step=step,
            count_E=statistics.count_E.clone(),
            mass_E=statistics.mass_E.clone(),
            gate_entropy=float(statistics.gate_entropy / statistics.num_tokens.clamp(min=1)),
            mean_drift=float(drift_E.sum() / max(1, drift_E.numel() - reborn.numel())),
            max_drift=float(drift_E.max()),
            reborn=tuple(reborn.tolist()),
        )

    def state(self) -> KeyState:
        """The buffers as the input of the rules: not a copy, and not to be modified."""
        return KeyState(
            self.keys_ED.detach(),
            self.usage_E,
            self.mass_E,
            self.load_bias_E,
            self.query_mean_D,
            self.born_E,
            self.routing_keys_ED.detach(),
        )

    @torch.no_grad()
    def write_(self, state: KeyState) -> None:
        """Copy the state that rules returned into the buffers. Training calls `apply_`, which also counts the
        step."""
        for field in fields(state):
            name, value = field.name, getattr(state, field.name)
            if name == "routing_keys_ED":
                # One buffer for both: a stale copy must not overwrite the result of a later rule.
                if not self.config.key_ema:
                    continue
                name = "average_ED"
            target = getattr(self, name)
            if not value.is_set_to(target):
                # Not through `.data`: autograd then detects keys that moved before their backward, and
                # raises.
                target.copy_(value)

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
        for name, value in sorted(self.state_dict().items()):
            state.update(name.encode())
            state.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return state.hexdigest()

    def get_extra_state(self) -> Tensor:
        """The step count, as a tensor so that it fits a tensors-only file."""
        return torch.tensor(self.step)

    def set_extra_state(self, state: Any) -> None:
        self.step = int(state)


def check_extra(config: GravityConfig, order: Sequence[Rule]) -> None:
    """Raise for a rate in `gravity.extra` that no rule uses."""
    known = extra_names(order)
    for name, value in config.extra.items():
        if name not in known:
            remedy = (
                nearest(name, known) if known else "add the rule that reads it (`somelab train --rule FILE`)"
            )
            raise ConfigError(f"gravity.extra.{name}", value, "no rule of that name is in the order", remedy)
