"""Parameters, bytes and FLOPs of a configuration, without allocating a weight. The real decoder is built on
torch's meta device and its modules are counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from somelab.config import Config, override
from somelab.core.experts import ExpertFamily
from somelab.model.decoder import Decoder


@dataclass(frozen=True)
class ParameterCount:
    total: int
    """All weights, trained and frozen. Keys are buffers and do not count unless trained by gradient."""
    trainable: int
    frozen: int
    active: int
    """Weights that one token uses: all but the pools, and K experts of each pool."""
    bytes: int
    """Weights and buffers as stored."""
    flops_per_token: int
    """Matrix products of a forward pass, two operations per multiply-add; see `count_flops`."""


def count_parameters(config: Config) -> ParameterCount:
    """Count a configuration of any size in seconds and little memory."""
    with torch.device("meta"):
        model = Decoder(config)
    pools = _pools(model)
    total = _numel(model.parameters())
    trainable = _numel(parameter for parameter in model.parameters() if parameter.requires_grad)
    active = total - sum(_numel(pool.parameters()) - pool.num_active() for pool in pools)
    stored = sum(tensor.numel() * tensor.element_size() for tensor in (*model.parameters(), *model.buffers()))
    return ParameterCount(total, trainable, total - trainable, active, stored, count_flops(config, model))


def equal_dense_width(config: Config) -> int:
    """The d_dense whose dense model trains as many weights as this configuration, as nearly as a whole number
    can."""
    wanted = count_parameters(config).trainable

    def trained(width: int) -> int:
        return count_parameters(
            override(config, {"model.feed_forward": "dense", "model.d_dense": width})
        ).trainable

    # The count is linear in the width: two points determine it.
    first, second = trained(1), trained(2)
    return max(1, round(1 + (wanted - first) / (second - first)))


def count_flops(config: Config, model: Decoder) -> int:
    """Forward FLOPs per token, 2 x multiply-adds of the matrix products (norms, activations and softmax left
    out):

    - every linear layer once: attention's four D*D, the query network, the dense block or the learned router;
    - attention: scores and mixture over a mean causal length of T/2 at the trained length T, D*T/2 each per
      layer;
    - router scores: E*D per SoME layer, D the width of the keys; product keys: sqrt(E)*D;
    - experts: `num_products` of their family, for dense ones K * 2*D*F per pool;
    - the head: V*D. The embedding lookup counts as 0."""
    shape = config.model
    linears = sum(module.weight.numel() for module in model.modules() if isinstance(module, nn.Linear))
    attention = shape.num_layers * shape.d_model * shape.seq_len
    scores = sum(
        sum(store.num_experts * store.width for store in layer.keystore.stores())
        for layer in model.some_layers()
    )
    experts = sum(pool.num_products() for pool in _pools(model))
    return 2 * (linears + attention + scores + experts + shape.vocab_size * shape.d_model)


def _pools(model: nn.Module) -> list[ExpertFamily]:
    return [module for module in model.modules() if isinstance(module, ExpertFamily)]


def _numel(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)
