"""Frozen pools of an exported model: left out of the file, drawn again from their random seed when it is
loaded, and compared with the digest that the configuration holds."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from somelab.core.experts import ExpertFamily, frozen_pools
from somelab.errors import SomelabError


class PoolError(SomelabError):
    """Frozen experts that cannot be drawn again as they were."""


def describe(model: nn.Module) -> dict[str, dict[str, Any]]:
    """Origin and digest of each frozen pool, by name."""
    return {
        name: {"recipe": pool.origin._asdict(), "digest": pool.digest()}
        for name, pool in frozen_pools(model).items()
    }


def drawn_names(model: nn.Module) -> set[str]:
    """The names of the weights that the pools' origins determine."""
    return {
        f"{name}.{weight}" for name, pool in frozen_pools(model).items() for weight, _ in pool.drawn_weights()
    }


@torch.no_grad()
def draw_(pool: ExpertFamily) -> None:
    """Draw the weights of a pool, but leave what is trained beside them."""
    pool.draw_(range(pool.origin.num_experts))


def verify(model: nn.Module, described: dict[str, dict[str, Any]]) -> None:
    """Raise unless every frozen pool has the bits that the configuration describes."""
    for name, pool in frozen_pools(model).items():
        if name not in described:
            raise PoolError(f"config.json does not describe the frozen experts {name}; export the run again")
        if _digest(pool) != described[name].get("digest"):
            raise PoolError(
                f"the frozen experts {name} are drawn differently here than where the run was trained "
                f"(torch {torch.__version__}); export the run with --full-pools, which stores them"
            )


def _digest(pool: ExpertFamily) -> str:
    """Of the pool in the type in which it was drawn: a model loaded in bf16 holds rounded weights."""
    stored = {"float32": torch.float32, "bfloat16": torch.bfloat16}.get(pool.origin.storage)
    if all(weight.dtype == stored for _, weight in pool.drawn_weights()):
        return pool.digest()
    with torch.device("cpu"):
        origin = pool.origin
        return type(pool)(origin.d_model, pool.config, seed=origin.seed, layer=origin.layer).digest()
