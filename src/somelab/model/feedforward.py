"""The feed-forward blocks beside the SoME layer: a trained or frozen dense block, or a classic MoE. They are
baselines in the same decoder, so that a comparison differs in this block alone.

Shape letters: B sequences, T tokens, D model width, F hidden width, E experts, K experts per token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from somelab.config import Config, ExpertsConfig
from somelab.core.dispatch.weights import expert_output
from somelab.core.experts import DenseExperts
from somelab.core.gravity import Rule
from somelab.core.layer import SomeLayer
from somelab.core.router import balancing_loss
from somelab.core.rows import rms_rows
from somelab.core.seeded import seeded_linear
from somelab.core.seeding import generator


class Selection(NamedTuple):
    """The selected experts and gates of each token, without gradient; kept after the layer returns."""

    indices_TK: Tensor
    gates_TK: Tensor


class FeedForwardOutput(NamedTuple):
    """The output of a feed-forward block of any kind."""

    mixture: Tensor
    query: Tensor | None = None
    selection: Selection | None = None
    aux_loss: Tensor | None = None


class Dense(nn.Module):
    """W_up gelu(W_down x): the trained feed-forward block of a plain Transformer. `norm`: hidden features at
    rms 1 before the activation. `gate`: SwiGLU, W_up (silu(W_gate x) * W_down x)."""

    def __init__(
        self,
        d_model: int,
        d_hidden: int,
        *,
        bias: bool,
        layer: int,
        seed: int,
        norm: bool = False,
        gate: bool = False,
    ) -> None:
        super().__init__()
        self.norm = norm
        rng = generator(seed, "dense", layer)
        self.down = seeded_linear(d_model, d_hidden, bias=bias, rng=rng)
        self.up = seeded_linear(d_hidden, d_model, bias=bias, rng=rng)
        self.gate = seeded_linear(d_model, d_hidden, bias=bias, rng=rng) if gate else None

    def forward(self, x_BTD: Tensor) -> Tensor:
        hidden_BTF = self.down(x_BTD)
        if self.norm:
            hidden_BTF = rms_rows(hidden_BTF.flatten(0, -2)).view_as(hidden_BTF)
        if self.gate is not None:
            return self.up(F.silu(self.gate(x_BTD)) * hidden_BTF)
        return self.up(F.gelu(hidden_BTF))


class FrozenDense(nn.Module):
    """One random expert for every token: the pool's initialiser and storage, without routing and training."""

    def __init__(self, d_model: int, d_hidden: int, config: ExpertsConfig, *, layer: int, seed: int) -> None:
        super().__init__()
        alone = {"num_experts": 1, "top_k": 1, "d_ffn": d_hidden, "trainability": "frozen"}
        self.pool = DenseExperts(d_model, config.model_copy(update=alone), seed=seed, layer=layer)

    def forward(self, x_BTD: Tensor) -> Tensor:
        # Directly through the one expert: tokens need not be sorted.
        return expert_output(self.pool.weights(), 0, x_BTD)


class LearnedMixture(nn.Module):
    """The classic mixture of experts: a trained linear router D -> E, trained experts, optionally a balancing
    loss.

    Gates are the softmax over all experts, renormalised over the K selected: the softmax of the K logits."""

    def __init__(self, config: Config, *, layer: int, seed: int) -> None:
        super().__init__()
        d_model = config.model.d_model
        self.top_k, self.balance = config.experts.top_k, config.router.balance_loss
        self.biased = config.model.part("bias")
        rng = generator(seed, "moe_router", layer)
        self.router = seeded_linear(d_model, config.experts.num_experts, bias=self.biased, rng=rng)
        trained = config.experts.model_copy(update={"init": "default", "trainability": "full"})
        self.pool = DenseExperts(d_model, trained, seed=seed, layer=layer)

    def forward(self, x_BTD: Tensor, counted_BT: Tensor | None) -> FeedForwardOutput:
        x_TD = x_BTD.flatten(0, -2)
        with torch.autocast(x_TD.device.type, enabled=False):
            logits_TE = F.linear(x_TD.float(), self.router.weight.float())
            if self.biased:
                logits_TE = logits_TE + self.router.bias.float()
        chosen_TK, indices_TK = logits_TE.topk(self.top_k, dim=1)
        gates_TK = chosen_TK.softmax(dim=1)
        mixture_TD = self.pool(x_TD, indices_TK, gates_TK)
        aux_loss = logits_TE.new_zeros(())
        if self.training and self.balance:
            weight_T = (
                logits_TE.new_ones(x_TD.shape[0]) if counted_BT is None else counted_BT.reshape(-1).float()
            )
            aux_loss = self.balance * balancing_loss(
                logits_TE, indices_TK, weight_T / weight_T.sum().clamp(min=1)
            )
        return FeedForwardOutput(
            mixture_TD.view_as(x_BTD), None, Selection(indices_TK, gates_TK.detach()), aux_loss
        )


FeedForward = SomeLayer | Dense | FrozenDense | LearnedMixture


def build_feed_forward(
    config: Config, *, layer: int, seed: int, order: Sequence[Rule] | None = None
) -> FeedForward | None:
    """The block that `model.feed_forward` names; None for `none`. `order`: the rules of a SoME layer."""
    model, experts = config.model, config.experts
    d_hidden = model.d_dense or experts.top_k * experts.d_ffn
    bias = model.part("bias")
    match model.feed_forward:
        case "some":
            place: dict[str, Any] = {
                "layer": layer,
                "num_layers": model.num_layers,
                "seed": seed,
                "order": order,
            }
            some = SomeLayer(model.d_model, experts, config.router, config.gravity, **place, bias=bias)
            some.keeps_outputs = not config.train.recompute
            return some
        case "dense":
            parts = {"norm": model.dense_norm, "gate": model.dense_gate}
            return Dense(model.d_model, d_hidden, bias=bias, layer=layer, seed=seed, **parts)
        case "frozen_dense":
            return FrozenDense(model.d_model, d_hidden, experts, layer=layer, seed=seed)
        case "moe":
            return LearnedMixture(config, layer=layer, seed=seed)
        case "none":
            return None
