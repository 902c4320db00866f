"""Usage of experts in training with padding included: what the published Gini and entropy of v1 to v4 are
computed from. Only where padding is in the loss; the rules never see it.

Shape letters: E experts, K experts per token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from somelab.config import Config
from somelab.core import measures
from somelab.model.feedforward import Selection
from somelab.training.machine.world import World

GINI, ENTROPY = "training_gini_with_padding", "training_entropy_bits_with_padding"


class UsageWithPadding:
    """Counts of every layer over the steps: a moving average or a sum, as the run's usage is."""

    def __init__(self, config: Config, num_layers: int, device: torch.device) -> None:
        self.decay = config.gravity.ema_decay if config.gravity.usage == "ema" else None
        # Counts of a step are whole numbers, exact in any order of addition.
        shape = (num_layers, config.experts.num_experts)
        self.step_counts = torch.zeros(shape, dtype=torch.int64, device=device)
        self.usage = torch.zeros(shape, dtype=torch.float64)

    @staticmethod
    def of(config: Config, num_layers: int, device: torch.device) -> UsageWithPadding | None:
        """None for a run without routed layers, or without padding in its loss."""
        return (
            UsageWithPadding(config, num_layers, device)
            if num_layers and config.data.padding_in_loss
            else None
        )

    @torch.compiler.disable
    def add_(self, routings: Sequence[Selection | None]) -> None:
        """The selections of one micro-batch, padding included."""
        routed = [selection for selection in routings if selection is not None]
        for count_E, selection in zip(self.step_counts, routed, strict=True):
            count_E += torch.bincount(selection.indices_TK.reshape(-1), minlength=len(count_E))

    def finish_step_(self, world: World) -> None:
        """Take the counts of all micro-batches and ranks into the usage."""
        flat = self.step_counts.double().cpu()
        if world.size > 1:
            flat = torch.tensor(world.sum(*flat.reshape(-1).tolist())).double().view_as(flat)
        self.usage = self.usage + flat if self.decay is None else self.usage.lerp(flat, 1 - self.decay)
        self.step_counts.zero_()

    def measures(self) -> list[dict[str, float]]:
        """Gini and entropy of every layer, under names that say how they were counted."""
        return [{GINI: measures.gini(use_E), ENTROPY: measures.entropy_bits(use_E)} for use_E in self.usage]

    def state(self) -> list[list[float]]:
        return self.usage.tolist()

    def load_(self, state: Any) -> None:
        """Continue from the usage at a checkpoint. Raises ValueError for another model's."""
        usage = torch.tensor(state, dtype=torch.float64)
        if usage.shape != self.usage.shape:
            raise ValueError(f"usage of {tuple(usage.shape)} for a model of {tuple(self.usage.shape)}")
        self.usage = usage


def with_usage(layers: list[dict[str, float]], usage: UsageWithPadding | None) -> list[dict[str, float]]:
    """Measures of layers with those of the usage with padding added."""
    if usage is None:
        return layers
    return [{**layer, **more} for layer, more in zip(layers, usage.measures(), strict=True)]
