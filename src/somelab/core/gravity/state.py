"""What the rules work on: the keys of one layer with their usage, and the settings and step at which the
rules act.

Shape letters: D model width, E experts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from torch import Tensor

from somelab.core.seeding import generator as make_generator

if TYPE_CHECKING:
    import torch

    from somelab.config import GravityConfig

Value = TypeVar("Value")


@dataclass(frozen=True)
class KeyState:
    """The keys of a layer and everything stored per key. Rules do not modify it; they return a new one."""

    keys_ED: Tensor
    usage_E: Tensor
    mass_E: Tensor
    load_bias_E: Tensor
    query_mean_D: Tensor
    born_E: Tensor
    """The step at which each key was last respawned; -1 if never."""
    routing_keys_ED: Tensor
    """The keys that tokens are compared with: the keys themselves, or their moving average (`key_ema`)."""


@dataclass(frozen=True)
class Moment:
    """Where and when a rule acts: the settings, the layer, the step, and the keys at the start of the
    step."""

    settings: GravityConfig
    layer: int
    num_layers: int
    step: int
    progress: float
    """Share of the run that has passed, 0 to 1."""
    seed: int
    keys_before_ED: Tensor

    @property
    def beta(self) -> float:
        """Rate of peer-pull in this layer and step: annealed over the run, scaled over the depth."""
        beta = self._annealed(self.settings.beta, self.settings.beta_final)
        return beta * by_depth(self.settings.beta_layers, self.layer, self.num_layers)

    @property
    def credit(self) -> float:
        """Step size of credit, annealed over the run."""
        return self._annealed(self.settings.credit, self.settings.credit_final)

    def _annealed(self, start: float, final: float | None) -> float:
        return start if final is None else start + (final - start) * self.progress

    def extra(self, name: str, default: float = 0.0) -> float:
        """The rate of a rule that is not part of the settings tree (`gravity.extra`)."""
        return self.settings.extra.get(name, default)

    def generator(self, purpose: str) -> torch.Generator:
        return make_generator(self.seed, purpose, self.layer, self.step)


def by_depth(values: tuple[Value, ...], layer: int, num_layers: int) -> Value:
    """The entry for a layer where n values cover the depth in n equal parts: of (a, b), b is the second
    half's."""
    return values[layer * len(values) // num_layers]
