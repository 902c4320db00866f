"""What else can adapt without gradients, driven by expected minus actual loss: gate temperatures and a gain
per expert. Each acts on the router from outside, is bounded, and is removed when adaptation ends.

Shape letters: N counted tokens, E experts, K experts per token."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from somelab.core.layer import SomeLayer
from somelab.core.measures import gate_entropy
from somelab.core.router import Routing

TEMPERATURE_RATE, TEMPERATURE_BOUND = 0.02, math.log(2)
GAIN_RATE, GAIN_BOUND = 0.02, math.log(1.5)


class TemperatureLever:
    """log tau <- log tau + rate corr(advantage, gate entropy), within a factor of 2 of where it began.

    Sign: if flatter gates correlate with better predictions than expected, gates become flatter."""

    def __init__(self, layer: SomeLayer) -> None:
        self.router = layer.router
        self._config = layer.router.config
        with torch.no_grad():
            self._start = float(layer.router.temperature())
        self.offset = 0.0
        self._covariance, self._num = 0.0, 0

    def see_(self, routing: Routing, advantage_N: Tensor, selected_T: Tensor) -> None:
        """Record the correlation of gate entropy and advantage in one pass."""
        entropy_N = gate_entropy(routing.gates_TK[selected_T].float())
        entropy_N = entropy_N - entropy_N.mean()
        self._covariance += float(
            (advantage_N * entropy_N).sum() / entropy_N.std(correction=0).clamp(min=1e-6)
        )
        self._num += advantage_N.numel()

    def move_(self, pace: float) -> None:
        correlation = self._covariance / max(1, self._num)
        self._covariance, self._num = 0.0, 0
        self.set_(self.offset + TEMPERATURE_RATE * pace * correlation)

    def set_(self, offset: float) -> None:
        """Set another temperature in the router. NaN: unchanged."""
        if math.isfinite(offset):
            self.offset = max(-TEMPERATURE_BOUND, min(TEMPERATURE_BOUND, offset))
            self.router.config = self._config.model_copy(
                update={"eval_temperature": self._start * math.exp(self.offset)}
            )

    def revert_(self, share: float) -> None:
        self.set_(self.offset * (1 - share))

    def undo_(self) -> None:
        self.router.config = self._config


class GainLever:
    """a_i <- a_i + rate r_i, r_i the gate-weighted mean advantage of the tokens that selected i; gates are
    multiplied by exp(a_i).

    Sign: experts selected for tokens that were predicted better than expected get larger gates, at most by
    half."""

    def __init__(self, layer: SomeLayer) -> None:
        self.log_gain_E = torch.zeros_like(layer.keystore.usage_E)
        self._mass_E, self._reward_E = torch.zeros_like(self.log_gain_E), torch.zeros_like(self.log_gain_E)

    def act(self, routing: Routing) -> Routing:
        """The routing with the gains in its gates."""
        return routing._replace(gates_TK=routing.gates_TK * self.log_gain_E.exp()[routing.indices_TK])

    def see_(self, routing: Routing, advantage_N: Tensor, selected_T: Tensor) -> None:
        """Record the advantage of each expert's tokens in one pass."""
        indices_NK, gates_NK = routing.indices_TK[selected_T], routing.gates_TK[selected_T].float()
        self._mass_E.index_add_(0, indices_NK.reshape(-1), gates_NK.reshape(-1))
        self._reward_E.index_add_(0, indices_NK.reshape(-1), (gates_NK * advantage_N[:, None]).reshape(-1))

    def move_(self, pace: float) -> None:
        moved_E = self.log_gain_E + GAIN_RATE * pace * self._reward_E / self._mass_E.clamp(min=1.0)
        if bool(moved_E.isfinite().all()):
            self.log_gain_E = moved_E.clamp(-GAIN_BOUND, GAIN_BOUND)
        self._mass_E, self._reward_E = torch.zeros_like(moved_E), torch.zeros_like(moved_E)

    def revert_(self, share: float) -> None:
        self.log_gain_E = self.log_gain_E * (1 - share)

    def undo_(self) -> None:
        self.log_gain_E = torch.zeros_like(self.log_gain_E)
