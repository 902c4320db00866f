"""AdamW over what is trained, and a learning rate that is a function of the run's progress."""

from __future__ import annotations

import math

import torch
from torch import nn

from somelab.config import TrainConfig

RATE_SCALE = "rate_scale"
"""What a group of parameters keeps beside AdamW's own settings: its learning rate relative to the run's."""
EMBEDDINGS = ("embedding.weight", "head_weight", "head_bias")
"""The parameters of a decoder that hold a row per token of the vocabulary."""


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """Weight decay on matrices only; the embedding and the head at `embedding_rate` times the learning rate.
    Frozen experts are not included: they have no gradient and no optimizer state."""
    groups: dict[tuple[bool, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            scale = config.embedding_rate if name.endswith(EMBEDDINGS) else 1.0
            groups.setdefault((parameter.dim() >= 2, scale), []).append(parameter)
    described = [
        {"params": own, "weight_decay": config.weight_decay if is_matrix else 0.0, RATE_SCALE: scale}
        for (is_matrix, scale), own in groups.items()
    ]
    optimizer = torch.optim.AdamW(described, lr=config.learning_rate, betas=config.betas, fused=True)
    set_learning_rate_(optimizer, config.learning_rate)
    return optimizer


def learning_rate(config: TrainConfig, progress: float) -> float:
    """Linear warm-up, then a cosine to the end. `progress` runs from 0 to 1."""
    if progress < config.warmup_fraction:
        return config.learning_rate * progress / config.warmup_fraction
    passed = (progress - config.warmup_fraction) / max(1e-12, 1 - config.warmup_fraction)
    low = config.final_lr_fraction
    return config.learning_rate * (low + (1 - low) * 0.5 * (1 + math.cos(math.pi * min(1.0, passed))))


def set_learning_rate_(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Groups that name no scale of their own get `rate` itself."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get(RATE_SCALE, 1.0)
