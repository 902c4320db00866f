"""The pool: E small feed-forward networks whose weights are a function of a seed. What the model can compute.

Frozen by default. `trainability` adds what is trained: gains, a shared read-out, LoRA, or everything.
Shape letters: T tokens, D model width, F expert hidden width, O width of an answer, E experts, K experts per token,
R LoRA rank."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.core.dispatch import ExpertWeights, engine
from somelab.core.dispatch.weights import can_be_frozen, compute_dtype
from somelab.core.initialisers import INITIALISERS
from somelab.core.seeding import generator

if TYPE_CHECKING:
    from somelab.config import ExpertsConfig

STORAGE = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Recipe(NamedTuple):
    """Everything that the drawn weights of a pool follow from: what a checkpoint keeps in their place."""

    seed: int
    layer: int
    init: str
    num_experts: int
    d_model: int
    d_ffn: int
    storage: str


class ExpertPool(nn.Module):
    """E experts, expert(x) = W_up gelu(W_down x + b_down) + b_up, computed for the K that a token chose.

    Each expert is drawn from a generator of its own, so that a pool has the same bits whether it is made whole, in
    blocks, or one shard per rank. With trainability `readout` the experts end at their hidden features."""

    def __init__(self, d_model: int, config: ExpertsConfig, *, seed: int, layer: int) -> None:
        super().__init__()
        self.config = config
        self.recipe = Recipe(seed, layer, config.init, config.num_experts, d_model, config.d_ffn, config.storage)
        num_experts, d_ffn, kind = config.num_experts, config.d_ffn, config.trainability
        trained = kind == "full"
        dtype = torch.float32 if trained else STORAGE[config.storage]

        def drawn(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape, dtype=dtype), requires_grad=trained)

        self.down_EFD = drawn(num_experts, d_ffn, d_model)
        self.down_bias_EF = drawn(num_experts, d_ffn)
        self.up_EDF = drawn(num_experts, d_model, d_ffn) if kind != "readout" else None
        self.up_bias_ED = drawn(num_experts, d_model) if kind != "readout" else None
        self.gains_EF = nn.Parameter(torch.empty(num_experts, d_ffn)) if kind == "gains" else None
        self.readout_DF = nn.Parameter(torch.empty(d_model, d_ffn)) if kind == "readout" else None
        rank = config.lora_rank if kind == "lora" else 0
        self.lora_down_in_ERD = nn.Parameter(torch.empty(num_experts, rank, d_model)) if rank else None
        self.lora_down_out_EFR = nn.Parameter(torch.empty(num_experts, d_ffn, rank)) if rank else None
        self.lora_up_in_ERF = nn.Parameter(torch.empty(num_experts, rank, d_ffn)) if rank else None
        self.lora_up_out_EDR = nn.Parameter(torch.empty(num_experts, d_model, rank)) if rank else None
        self._cast: tuple[object, ExpertWeights] | None = None
        self.reset_()

    def reset_(self) -> None:
        """Draw the pool from its recipe, and set what is trained to its neutral start. On the meta device: nothing."""
        if self.down_EFD.is_meta:
            return
        self.draw_(range(self.recipe.num_experts))
        recipe = self.recipe
        with torch.no_grad():
            if self.gains_EF is not None:
                self.gains_EF.fill_(1.0)
            if self.readout_DF is not None:
                bound = 1 / math.sqrt(recipe.d_ffn)
                self.readout_DF.uniform_(-bound, bound, generator=generator(recipe.seed, "readout", recipe.layer))
            rng = generator(recipe.seed, "lora", recipe.layer)
            for inner in (self.lora_down_in_ERD, self.lora_up_in_ERF):
                if inner is not None:
                    bound = 1 / math.sqrt(inner.shape[2])
                    inner.uniform_(-bound, bound, generator=rng)
            for outer in (self.lora_down_out_EFR, self.lora_up_out_EDR):
                if outer is not None:
                    outer.zero_()

    def draw_(self, experts: range) -> None:
        """Draw a block of experts. Threads share the work: an expert does not depend on its neighbours.

        Each draws with one thread of torch's own: the last bits of a QR decomposition follow the number of threads."""
        num_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
                list(workers.map(self._draw_one_, experts))
        finally:
            torch.set_num_threads(num_threads)

    @torch.no_grad()
    def _draw_one_(self, expert: int) -> None:
        recipe = self.recipe
        down_FD = torch.empty(recipe.d_ffn, recipe.d_model)
        up_DF = torch.empty(recipe.d_model, recipe.d_ffn)
        INITIALISERS[recipe.init](down_FD, up_DF, generator(recipe.seed, "expert", recipe.layer, expert))
        self.down_EFD[expert].copy_(down_FD)
        self.down_bias_EF[expert].zero_()
        if self.up_EDF is not None and self.up_bias_ED is not None:
            self.up_EDF[expert].copy_(up_DF)
            self.up_bias_ED[expert].zero_()

    def drawn_weights(self) -> Iterator[tuple[str, nn.Parameter]]:
        """The parameters that follow from the recipe (and are frozen unless trainability is full)."""
        for name in ("down_EFD", "down_bias_EF", "up_EDF", "up_bias_ED"):
            weight = getattr(self, name)
            if weight is not None:
                yield name, weight

    def digest(self) -> str:
        """Fingerprint of the drawn weights' bits: a hash over one hash per expert, taken in threads."""

        def of(expert: int) -> bytes:
            state = hashlib.blake2b(digest_size=16)
            for _, weight in self.drawn_weights():
                state.update(weight[expert].detach().cpu().contiguous().view(torch.uint8).numpy().data)
            return state.digest()

        with ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
            parts = workers.map(of, range(self.recipe.num_experts))
            return hashlib.blake2b(b"".join(parts), digest_size=16).hexdigest()

    def weights(self) -> ExpertWeights:
        """What a dispatch engine needs, and nothing more."""
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
        )

    def weights_for(self, dtype: torch.dtype) -> ExpertWeights:
        """The weights to compute with in this type. A narrower copy of frozen ones is made once and kept, since casting in every
        step costs as much as a pass over the tokens; a wider one is not: who keeps bf16 does it for the memory."""
        weights = self.weights()
        if not can_be_frozen(weights) or dtype.itemsize >= weights.down_EFD.dtype.itemsize:
            return weights
        made_from = (dtype, [(weight.device, weight._version) for _, weight in self.drawn_weights()])
        if self._cast is None or self._cast[0] != made_from:
            self._cast = None  # the old copy goes before the new one comes
            narrow = {name: weight.detach().to(dtype) for name, weight in self.drawn_weights()}
            self._cast = (made_from, weights._replace(**narrow))
        return self._cast[1]

    def forward(self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, answers_TKO: Tensor | None = None) -> Tensor:
        """sum_k g_k expert_k(x): the gated answers of each token's experts. No token is dropped at any skew.

        `answers_TKO`: `room_for_answers`, which is filled with what each expert said by itself."""
        mixed = engine(self.config.engine)(x_TD, indices_TK, gates_TK, self.weights_for(compute_dtype(x_TD)), answers_TKO)
        return mixed if self.readout_DF is None else F.linear(mixed, self.readout_DF)

    def room_for_answers(self, x_TD: Tensor, indices_TK: Tensor) -> Tensor:
        """[T, K, O] empty. O = D, or F where experts end at their features, which the read-out is yet to read."""
        return torch.empty(*indices_TK.shape, self.weights().d_out, dtype=compute_dtype(x_TD), device=x_TD.device)

    def helpfulness(self, answers_TKO: Tensor, wanted_TD: Tensor) -> Tensor:
        """[T, K] <expert_k(x), wanted>: how far each expert's answer points where it should."""
        wanted_TO = wanted_TD if self.readout_DF is None else wanted_TD @ self.readout_DF.to(wanted_TD.dtype)
        return (answers_TKO * wanted_TO[:, None]).sum(dim=2, dtype=torch.float32)

    def extra_repr(self) -> str:
        return f"{self.recipe}, trainability={self.config.trainability}"
