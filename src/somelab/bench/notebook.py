"""The implementation of the published notebooks, as a reference: one module per expert, tokens sorted and
split, a loop over experts, and keys moved slot by slot with a gather of every query and key. Autograd does
all of backward.

Written from the equations of the reports (v1 to v4): forward equals `SomeLayer`, and keys move alike to first
order in alpha. Shape letters: T tokens, D model width, F expert hidden width, E experts, K experts per token,
N tokens of one expert."""

from __future__ import annotations

from copy import deepcopy
from itertools import combinations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.config import Config
from somelab.core.dispatch import ExpertWeights
from somelab.core.experts import DenseExperts
from somelab.core.layer import SomeLayer
from somelab.core.router import Router
from somelab.errors import ConfigError

REMEDY = "choose a preset of series A to C, such as a1"


class NotebookExpert(nn.Module):
    """expert(x) = W_up gelu(W_down x + b_down) + b_up. Its frozen weights are views of the pool's memory."""

    def __init__(self, weights: ExpertWeights, expert: int) -> None:
        super().__init__()
        assert weights.up_EDF is not None
        assert weights.up_bias_ED is not None
        self.down = _frozen_linear(weights.down_EFD[expert], weights.down_bias_EF[expert])
        self.up = _frozen_linear(weights.up_EDF[expert], weights.up_bias_ED[expert])

    def forward(self, x_ND: Tensor) -> Tensor:
        return self.up(F.gelu(self.down(x_ND)))


class NotebookExperts(nn.Module):
    """Sort the token-expert pairs, split them, compute one expert after another, add up."""

    def __init__(self, weights: ExpertWeights) -> None:
        super().__init__()
        self.experts = nn.ModuleList(
            NotebookExpert(weights, expert) for expert in range(weights.down_EFD.shape[0])
        )

    def forward(self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor) -> Tensor:
        chosen = indices_TK.reshape(-1)
        order = chosen.argsort()
        tokens = order // indices_TK.shape[1]
        sizes: list[int] = torch.bincount(chosen, minlength=len(self.experts)).tolist()
        blocks = x_TD[tokens].split(sizes)
        outputs = torch.cat(
            [expert(block) for expert, block in zip(self.experts, blocks, strict=True) if len(block)]
        )
        gated = outputs * gates_TK.reshape(-1)[order, None]
        return torch.zeros_like(x_TD).index_add(0, tokens, gated.to(x_TD.dtype))


class NotebookLayer(nn.Module):
    """A SoME layer as in the published notebooks: it shares the experts' memory and has its own copy of
    everything that changes.

    Forward records queries and selections; `move_keys_` then moves the keys. All tokens count."""

    keys_ED: Tensor
    usage_E: Tensor

    def __init__(self, layer: SomeLayer) -> None:
        super().__init__()
        store = layer.keystore
        self.router, self.gravity, self.top_k = layer.router.config, store.config, layer.router.top_k
        self.query_network = _query_network(layer.router)
        assert isinstance(layer.experts, DenseExperts)
        self.experts = NotebookExperts(layer.experts.weights())
        self.register_buffer("keys_ED", store.keys_ED.detach().clone())
        self.register_buffer("usage_E", store.usage_E.clone())
        self.step = store.step
        self.seen: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        x_TD = x.reshape(-1, x.shape[-1])
        raw_TD = self.query_network(x_TD)
        with torch.autocast(x.device.type, enabled=False):
            queries_TD = raw_TD.float()
            if self.router.scoring == "cosine":
                queries_TD = F.normalize(queries_TD, dim=1)
            chosen_TK, indices_TK = (queries_TD @ self.keys_ED.T).topk(self.top_k, dim=1)
            gates_TK = (chosen_TK / self.router.temperature).softmax(dim=1)
        if self.training:
            self.seen = queries_TD.detach(), indices_TK
        return self.experts(x_TD, indices_TK, gates_TK).view_as(x)

    @torch.no_grad()
    def move_keys_(self) -> None:
        """Usage, attraction, peer-pull, norm, decay, after an optimizer step: a slot, or a pair of slots, at
        a time."""
        assert self.seen is not None
        queries_TD, indices_TK = self.seen
        settings, keys_ED, usage_E = self.gravity, self.keys_ED, self.usage_E
        count_E = torch.bincount(indices_TK.reshape(-1), minlength=len(keys_ED)).float()
        if settings.usage == "cumulative":
            usage_E.add_(count_E)
        else:
            usage_E.mul_(settings.ema_decay).add_(count_E, alpha=1 - settings.ema_decay)
        if settings.attraction:
            for slot in range(indices_TK.shape[1]):
                chosen_T = indices_TK[:, slot]
                rate_T = settings.alpha / (1 + usage_E[chosen_T])
                keys_ED.index_add_(0, chosen_T, rate_T[:, None] * (queries_TD - keys_ED[chosen_T]))
        if settings.peer_pull:
            for first, second in combinations(range(indices_TK.shape[1]), 2):
                self._pull_(indices_TK[:, first], indices_TK[:, second])
        keys_ED.copy_(F.normalize(keys_ED, dim=1))
        if settings.decay and self.step >= settings.warmup_steps:
            keys_ED.mul_(torch.where(usage_E < self._theta(), 1 - settings.delta, 1.0)[:, None])
        self.step += 1

    def _pull_(self, first_T: Tensor, second_T: Tensor) -> None:
        inertia = torch.minimum if self.gravity.inertia == "min" else torch.maximum
        rate_T = self.gravity.beta / (1 + inertia(self.usage_E[first_T], self.usage_E[second_T]))
        towards_TD = rate_T[:, None] * (self.keys_ED[second_T] - self.keys_ED[first_T])
        self.keys_ED.index_add_(0, first_T, towards_TD)
        self.keys_ED.index_add_(0, second_T, -towards_TD)

    def _theta(self) -> Tensor | float:
        if self.gravity.theta is not None:
            return self.gravity.theta
        used = self.usage_E[self.usage_E > 0]
        return torch.quantile(used, self.gravity.theta_percentile or 0.0) if used.numel() else 0.0


def check_notebook_can(config: Config, name: str) -> None:
    """Raise for a configuration that the notebooks of v1 to v4 do not support: it could not be compared."""
    check_has_experts(config, name)
    if (missing := notebook_lacks(config)) is not None:
        raise ConfigError(
            "preset", name, f"the published notebooks, which it is compared with, have no {missing}", REMEDY
        )


def check_has_experts(config: Config, name: str) -> None:
    """Raise for a baseline without a SoME layer."""
    if config.model.feed_forward != "some":
        raise ConfigError(
            "preset", name, f"its feed-forward block is {config.model.feed_forward}, not a SoME layer", REMEDY
        )


def notebook_lacks(config: Config) -> str | None:
    """The first setting that the notebooks' layer does not support, or None."""
    gravity, router = config.gravity, config.router
    strange = {
        "experts.trainability": config.experts.trainability != "frozen",
        "experts.output_gain": config.experts.output_gain != 1 or config.experts.train_output_gain,
        "experts.reads": config.experts.reads != "token",
        "experts.mixer": config.experts.mixer,
        "router.kind": router.kind == "none",
        "router.gates": router.gates != "softmax" or router.learnable_temperature,
        "router.centre_queries": router.centre_queries,
        "router.gradient": not router.gradient,
        "router.grounding": router.grounding > 0,
        "router.top_k_warmup": router.top_k_warmup + router.top_k_ramp > 0,
        "gravity.keys": gravity.keys != "moved",
        "gravity.norm": gravity.norm != "unit",
        "gravity.respawn": gravity.respawn,
        "gravity.attraction_by": gravity.attraction_by != "all",
        "gravity.credit": gravity.credit > 0,
        "gravity.load_bias": gravity.load_bias > 0,
    }
    return next((field for field, differs in strange.items() if differs), None)


def _frozen_linear(weight: Tensor, bias: Tensor) -> nn.Linear:
    linear = nn.Linear(weight.shape[1], weight.shape[0], device="meta")
    linear.weight = nn.Parameter(weight.detach(), requires_grad=False)
    linear.bias = nn.Parameter(bias.detach(), requires_grad=False)
    return linear


def _query_network(router: Router) -> nn.Module:
    """A copy of the router's linear layers as one network, with GELU between them."""
    layers = list[nn.Module]()
    for linear in router.linears:
        layers += [deepcopy(linear), nn.GELU()]
    return nn.Sequential(*layers[:-1])
