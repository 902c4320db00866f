"""AdamW over what is trained, and a learning rate that is a function of the run's progress."""

from __future__ import annotations

import math

import torch
from torch import nn

from somelab.config import TrainConfig


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.AdamW:
    """Weight decay on matrices only. Frozen experts are not included: they have no gradient and no optimizer
    state."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=config.betas, fused=True)


def learning_rate(config: TrainConfig, progress: float) -> float:
    """Linear warm-up, then a cosine to the end. `progress` runs from 0 to 1."""
    if progress < config.warmup_fraction:
        return config.learning_rate * progress / config.warmup_fraction
    passed = (progress - config.warmup_fraction) / max(1e-12, 1 - config.warmup_fraction)
    low = config.final_lr_fraction
    return config.learning_rate * (low + (1 - low) * 0.5 * (1 + math.cos(math.pi * min(1.0, passed))))


def set_learning_rate_(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate
