"""Parameters, bytes and FLOPs of a configuration, without allocating a weight. The real decoder is built on
torch's meta device and its modules are counted. All blocks are alike, so that one stands for all."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from somelab.config import Config, override
from somelab.config.counts import ParameterCount
from somelab.core.experts import ExpertFamily
from somelab.core.layer import SomeLayer
from somelab.model.decoder import Decoder


def count_parameters(config: Config) -> ParameterCount:
    """Count a configuration of any size in a moment and little memory."""
    # Blocks differ at most in whether their keys move.
    are_alike = len(set(config.gravity.frozen_layers)) <= 1
    num_layers = config.model.num_layers
    with torch.device("meta"):
        model = Decoder(override(config, {"model.num_layers": 1}) if are_alike else config)
    counts = torch.tensor(_counts(model))
    if are_alike:
        counts += (num_layers - 1) * torch.tensor(_counts(model.blocks[0]))
    total, trainable, active, stored, products = (int(count) for count in counts)
    shape = config.model
    attention = num_layers * shape.d_model * shape.seq_len
    flops = 2 * (products + attention + shape.vocab_size * shape.d_model)
    return ParameterCount(total, trainable, total - trainable, active, stored, flops)


def _counts(module: nn.Module) -> tuple[int, int, int, int, int]:
    """Weights, trained ones, active ones, bytes, and products of a token (see `ParameterCount`) in a part of
    a model."""
    pools = [part for part in module.modules() if isinstance(part, ExpertFamily)]
    parameters, buffers = list(module.parameters()), list(module.buffers())
    total = _numel(parameters)
    trainable = _numel(parameter for parameter in parameters if parameter.requires_grad)
    active = total - sum(_numel(pool.parameters()) - pool.num_active() for pool in pools)
    stored = sum(tensor.numel() * tensor.element_size() for tensor in (*parameters, *buffers))
    linears = _numel(part.weight for part in module.modules() if isinstance(part, nn.Linear))
    layers = [part for part in module.modules() if isinstance(part, SomeLayer)]
    scores = sum(store.num_experts * store.width for layer in layers for store in layer.keystore.stores())
    products = linears + scores + sum(pool.num_products() for pool in pools)
    return total, trainable, active, stored, products


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


def _numel(tensors: Iterable[Tensor]) -> int:
    return sum(tensor.numel() for tensor in tensors)
