"""The map of keys for the first picture, from a real layer: 200 steps of gravity on tokens that have topics.
Keys and one query are laid flat by principal components; which keys the query chose is decided in all
dimensions.

Shape letters: T tokens, D model width, E experts, K experts per token, P plane (2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from somelab.config import ExpertsConfig, GravityConfig, RouterConfig
from somelab.core.layer import SomeLayer

D_MODEL, NUM_EXPERTS, TOP_K, STEPS, TOKENS_PER_STEP = 24, 96, 4, 200, 1024
NUM_SHOWN = 400
NUM_TOPICS, KINDS_PER_TOPIC, SEED = 6, 4, 3


@dataclass(frozen=True)
class Galaxy:
    """Where keys and the queries of a batch lie on the plane, how much keys are used, and what one query
    chose."""

    keys_EP: Tensor
    usage_E: Tensor
    queries_TP: Tensor
    query_P: Tensor
    chosen_K: Tensor
    gates_K: Tensor


class Language:
    """Random tokens with structure: topics, kinds within a topic, a common direction, and noise."""

    def __init__(self, rng: torch.Generator) -> None:
        self.rng = rng
        self.common_D = 2 * torch.randn(D_MODEL, generator=rng) / D_MODEL**0.5
        topics_D = torch.randn(NUM_TOPICS, 1, D_MODEL, generator=rng)
        self.kinds_D = (
            topics_D + 0.6 * torch.randn(NUM_TOPICS, KINDS_PER_TOPIC, D_MODEL, generator=rng)
        ).flatten(0, 1)
        self.frequency = torch.rand(NUM_TOPICS * KINDS_PER_TOPIC, generator=rng) + 0.15

    def tokens(self, num: int) -> Tensor:
        kind_T = torch.multinomial(self.frequency, num, replacement=True, generator=self.rng)
        return self.kinds_D[kind_T] + 0.35 * torch.randn(num, D_MODEL, generator=self.rng) + self.common_D


def galaxy(token: int) -> Galaxy:
    """Run the layer, then flatten it; `token` is the one of the last batch whose choice is shown."""
    layer = SomeLayer(
        D_MODEL,
        ExpertsConfig(num_experts=NUM_EXPERTS, d_ffn=16, top_k=TOP_K),
        RouterConfig(centre_queries=True, temperature=0.1),
        GravityConfig(alpha=0.015, ema_decay=0.995, norm="clamp", pull_until_cosine=0.7, repulsion=0.005),
        seed=SEED,
    )
    language = Language(torch.Generator().manual_seed(SEED))
    for _ in range(STEPS):
        layer(language.tokens(TOKENS_PER_STEP))
        layer.apply_gravity_()
    layer.eval()
    routing = layer(language.tokens(NUM_SHOWN), details=True).routing
    keys_ED, mean_D = layer.keystore.keys_ED, layer.keystore.keys_ED.mean(dim=0)
    axes_PD = torch.linalg.svd(keys_ED - mean_D, full_matrices=False).Vh[:2]
    # The sign of a principal component is arbitrary; its largest entry is made positive.
    axes_PD = axes_PD * axes_PD.gather(1, axes_PD.abs().argmax(dim=1, keepdim=True)).sign()
    queries_TP = (routing.queries_TD.detach() - mean_D) @ axes_PD.T
    return Galaxy(
        keys_EP=(keys_ED - mean_D) @ axes_PD.T,
        usage_E=layer.keystore.usage_E,
        queries_TP=queries_TP,
        query_P=queries_TP[token],
        chosen_K=routing.indices_TK[token],
        gates_K=routing.gates_TK[token].detach(),
    )
