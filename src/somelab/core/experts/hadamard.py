"""Experts without matrices, from random signs and the Walsh-Hadamard matrix H. No weight is stored or
trained: an expert is a few bits of a hash.

    hadamard    expert(q) = gamma c * gelu(H (b * q)), b and c its own: F log2 N additions
    modulated   expert(q) = gamma sqrt(2) m * c * gelu(H (b * q)), b and c shared, m its own random half of
                the units: F additions, and one transform for all experts of a token

Shape letters: T tokens, D model width, N width of a transform (D to the next power of two), F hidden units of
an expert, E experts, K experts per token."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from somelab.core.dispatch.hadamard import HadamardPool, next_power_of_two
from somelab.core.dispatch.hadamard_engines import HADAMARD, NAMES
from somelab.core.experts.family import ExpertFamily
from somelab.core.seeding import derive
from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.config import ExpertsConfig

FINGERPRINTED = 256
"""Experts whose signs are in the digest. All follow from one function of integers."""


class HadamardExperts(ExpertFamily, name="hadamard"):
    """E experts of F / N blocks of N hidden units each, of which unit p adds to output p mod D. `init` and
    `storage` do not apply: signs have neither."""

    engines = NAMES
    retains_outputs = False
    modulated: ClassVar[bool] = False

    def __init__(self, d_model: int, config: ExpertsConfig, *, seed: int, layer: int) -> None:
        super().__init__(d_model, config, seed=seed, layer=layer)
        _check(self.name, d_model, config)
        key = derive(seed, "signs", layer)
        self.pool = HadamardPool(key, config.num_experts, d_model, config.d_ffn, self.modulated)

    def drawn_weights(self) -> Iterator[tuple[str, Tensor]]:
        """None: signs are computed where they are used."""
        return iter(())

    def draw_one_(self, expert: int) -> None:
        """Nothing to draw."""

    def draw_(self, experts: range) -> None:
        """Nothing to draw."""

    def digest(self) -> str:
        """Fingerprint of the signs of some experts, the first and the last among them."""
        last = self.origin.num_experts - 1
        experts = torch.arange(min(last + 1, FINGERPRINTED), device="cpu")
        words = self.pool.words(experts * last // max(1, len(experts) - 1))
        return hashlib.blake2b(words.numpy().tobytes(), digest_size=16).hexdigest()

    def forward(
        self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, outputs_TKO: Tensor | None = None
    ) -> Tensor:
        return HADAMARD["mixture"](self.config.engine, x_TD, indices_TK, gates_TK, self.pool, outputs_TKO)

    def recomputed_alignment(self, x_TD: Tensor, indices_TK: Tensor, wanted_TD: Tensor) -> Tensor:
        return HADAMARD["alignment"](self.config.engine, x_TD, indices_TK, wanted_TD, self.pool)

    def num_products(self) -> int:
        """K F log2(N) / 2: an addition or subtraction is half a multiply-add."""
        return self.config.top_k * self.origin.d_ffn * (self.pool.width.bit_length() - 1) // 2


class ModulatedExperts(HadamardExperts, name="modulated"):
    """E experts that share F units; each uses a random half of them. So routing selects features, and the
    mixer reads the same ones from every expert."""

    modulated = True

    def num_products(self) -> int:
        """F log2(N) / 2 for the transform, and one for each unit and expert."""
        d_ffn = self.origin.d_ffn
        return d_ffn * (self.pool.width.bit_length() - 1) // 2 + self.config.top_k * d_ffn


def _check(family: str, d_model: int, config: ExpertsConfig) -> None:
    width = next_power_of_two(d_model)
    if not config.mixer:
        raise ConfigError(
            "experts.mixer",
            False,
            f"experts of family {family} have no output projection",
            "set experts.mixer to true",
        )
    if config.d_ffn % width:
        raise ConfigError(
            "experts.d_ffn",
            config.d_ffn,
            f"experts of family {family} are blocks of {width} units (model.d_model = {d_model} to the next "
            "power of two)",
            f"choose a multiple of {width}",
        )
    if config.trainability != "frozen":
        raise ConfigError(
            "experts.trainability",
            config.trainability,
            f"experts of family {family} have no weights to train",
            "choose frozen",
        )
