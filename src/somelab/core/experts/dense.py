"""Dense experts: expert(x) = W_up gelu(W_down x + b_down) + b_up. Frozen by default; `trainability` adds what
is trained: gains, a shared read-out, LoRA, or everything.

Shape letters: T tokens, D model width, F expert hidden width, O width of an output, E experts, K experts per
token, R LoRA rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.core.dispatch import ENGINES, ExpertWeights, engine
from somelab.core.dispatch.weights import can_be_frozen, compute_dtype
from somelab.core.experts.family import ExpertFamily
from somelab.core.experts.initialisers import INITIALISERS
from somelab.core.seeded import draw_uniform_
from somelab.core.seeding import generator

if TYPE_CHECKING:
    from somelab.config import ExpertsConfig

STORAGE = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}
LARGEST = 127
"""Of the integers of an int8 pool: symmetric, so that -128 is left out."""


class DenseExperts(ExpertFamily, name="dense"):
    """E two-layer networks. With trainability `readout` they return hidden features, which one trained matrix
    maps to the output."""

    engines = tuple(ENGINES)
    down_scale_E: Tensor | None
    up_scale_E: Tensor | None

    def __init__(self, d_model: int, config: ExpertsConfig, *, seed: int, layer: int) -> None:
        super().__init__(d_model, config, seed=seed, layer=layer)
        num_experts, d_ffn, kind = config.num_experts, config.d_ffn, config.trainability
        trained = kind == "full"
        dtype = torch.float32 if trained else STORAGE[config.storage]

        def drawn(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape, dtype=dtype), requires_grad=trained)

        self.down_EFD = drawn(num_experts, d_ffn, d_model)
        self.down_bias_EF = drawn(num_experts, d_ffn)
        self.up_EDF = drawn(num_experts, d_model, d_ffn) if kind != "readout" else None
        self.up_bias_ED = drawn(num_experts, d_model) if kind != "readout" else None
        # Buffers: scales are part of the format, so that a pool counts as many parameters in every type.
        for name, exists in (("down_scale_E", True), ("up_scale_E", kind != "readout")):
            scale_E = torch.empty(num_experts) if dtype == torch.int8 and exists else None
            self.register_buffer(name, scale_E, persistent=False)
        self.gains_EF = nn.Parameter(torch.empty(num_experts, d_ffn)) if kind == "gains" else None
        self.readout_DF = nn.Parameter(torch.empty(d_model, d_ffn)) if kind == "readout" else None
        rank = config.lora_rank if kind == "lora" else 0
        self.lora_down_in_ERD = nn.Parameter(torch.empty(num_experts, rank, d_model)) if rank else None
        self.lora_down_out_EFR = nn.Parameter(torch.empty(num_experts, d_ffn, rank)) if rank else None
        self.lora_up_in_ERF = nn.Parameter(torch.empty(num_experts, rank, d_ffn)) if rank else None
        self.lora_up_out_EDR = nn.Parameter(torch.empty(num_experts, d_model, rank)) if rank else None
        self._cast: tuple[object, ExpertWeights] | None = None
        self.reset_()

    def reset_trained_(self) -> None:
        origin = self.origin
        if self.gains_EF is not None:
            self.gains_EF.fill_(1.0)
        if self.readout_DF is not None:
            draw_uniform_(self.readout_DF, origin.d_ffn, generator(origin.seed, "readout", origin.layer))
        rng = generator(origin.seed, "lora", origin.layer)
        for inner in (self.lora_down_in_ERD, self.lora_up_in_ERF):
            if inner is not None:
                draw_uniform_(inner, inner.shape[2], rng)
        for outer in (self.lora_down_out_EFR, self.lora_up_out_EDR):
            if outer is not None:
                outer.zero_()

    @torch.no_grad()
    def draw_one_(self, expert: int) -> None:
        origin = self.origin
        down_FD = torch.empty(origin.d_ffn, origin.d_model)
        up_DF = torch.empty(origin.d_model, origin.d_ffn)
        INITIALISERS[origin.init](down_FD, up_DF, generator(origin.seed, "expert", origin.layer, expert))
        _store_(down_FD, self.down_EFD, self.down_scale_E, expert)
        self.down_bias_EF[expert].zero_()
        if self.up_EDF is not None and self.up_bias_ED is not None:
            _store_(up_DF, self.up_EDF, self.up_scale_E, expert)
            self.up_bias_ED[expert].zero_()

    def drawn_weights(self) -> Iterator[tuple[str, Tensor]]:
        """The tensors that `origin` determines (frozen unless trainability is full)."""
        for name in ("down_EFD", "down_bias_EF", "up_EDF", "up_bias_ED", "down_scale_E", "up_scale_E"):
            weight = getattr(self, name)
            if weight is not None:
                yield name, weight

    def weights(self) -> ExpertWeights:
        """The weights as a dispatch engine needs them."""
        return ExpertWeights(
            self.down_EFD,
            self.down_bias_EF,
            self.up_EDF,
            self.up_bias_ED,
            self.gains_EF,
            self.lora_down_in_ERD,
            self.lora_down_out_EFR,
            self.lora_up_in_ERF,
            self.lora_up_out_EDR,
            self.down_scale_E,
            self.up_scale_E,
        )

    def weights_for(self, dtype: torch.dtype) -> ExpertWeights:
        """The weights to compute with in this type. A narrower copy of frozen ones is made once and kept,
        since casting in every step costs as much as a pass over the tokens. A wider copy is not kept: bf16
        storage is chosen to save memory."""
        weights = self.weights()
        if not can_be_frozen(weights) or dtype.itemsize >= weights.down_EFD.dtype.itemsize:
            return weights
        made_from = (dtype, [(weight.device, weight._version) for _, weight in self.drawn_weights()])
        if self._cast is None or self._cast[0] != made_from:
            self._cast = None  # free the old copy before making the new one
            narrow = {name: weight.detach().to(dtype) for name, weight in self.drawn_weights()}
            self._cast = (made_from, weights._replace(**narrow))
        return self._cast[1]

    def forward(
        self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, outputs_TKO: Tensor | None = None
    ) -> Tensor:
        """sum_k g_k expert_k(x): the gated outputs of each token's experts. No token is dropped at any skew.

        `outputs_TKO`: `empty_outputs`, to be filled with the per-expert outputs."""
        mixed = engine(self.config.engine)(
            x_TD, indices_TK, gates_TK, self.weights_for(compute_dtype(x_TD)), outputs_TKO
        )
        return mixed if self.readout_DF is None else F.linear(mixed, self.readout_DF)

    def output_width(self) -> int:
        return self.weights().d_out  # F where experts return hidden features

    def alignment(self, outputs_TKO: Tensor, wanted_TD: Tensor) -> Tensor:
        if self.readout_DF is not None:
            wanted_TD = wanted_TD @ self.readout_DF.to(wanted_TD.dtype)
        return super().alignment(outputs_TKO, wanted_TD)

    def num_products(self) -> int:
        """K * 2 D F; LoRA: + K * 2 R (D + F); read-out: K D F + D F, since it is applied to the mixture."""
        d_model, d_ffn, top_k = self.origin.d_model, self.origin.d_ffn, self.config.top_k
        if self.config.trainability == "readout":
            return (top_k + 1) * d_model * d_ffn
        rank = self.config.lora_rank if self.config.trainability == "lora" else 0
        return top_k * 2 * (d_model * d_ffn + rank * (d_model + d_ffn))


def _store_(drawn: Tensor, matrices: Tensor, scale_E: Tensor | None, expert: int) -> None:
    """Store one drawn matrix; as integers and their scale in an int8 pool."""
    if scale_E is None:
        matrices[expert].copy_(drawn)
        return
    scale_E[expert] = drawn.abs().max().clamp(min=1e-30) / LARGEST
    matrices[expert].copy_((drawn / scale_E[expert].to(drawn.device)).round())
