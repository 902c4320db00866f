"""Usage of experts in training with padding included: what the published Gini and entropy of v1 to v4 are
computed from. Only where padding is in the loss; the loss without it is kept beside. Where padding moves keys
too (`gravity.count_padding`), so is the usage without it: the key store's own then counts padding.

Shape letters: T tokens, N tokens in the loss, W ways of counting, E experts, K experts per token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from somelab.config import Config
from somelab.core import measures
from somelab.data.batch import Batch
from somelab.model.feedforward import Selection
from somelab.training.machine.world import World

GINI, ENTROPY = "training_gini_with_padding", "training_entropy_bits_with_padding"
GINI_WITHOUT, ENTROPY_WITHOUT = "training_gini_without_padding", "training_entropy_bits_without_padding"
NAMES = ((GINI, ENTROPY), (GINI_WITHOUT, ENTROPY_WITHOUT))


class UsageWithPadding:
    """Counts of every layer over the steps: a moving average or a sum, as the run's usage is."""

    def __init__(self, config: Config, num_layers: int, device: torch.device) -> None:
        self.decay = config.gravity.ema_decay if config.gravity.usage == "ema" else None
        # Counts of a step are whole numbers, exact in any order of addition.
        shape = (1 + config.gravity.count_padding, num_layers, config.experts.num_experts)
        self.step_counts = torch.zeros(shape, dtype=torch.int64, device=device)
        self.usage = torch.zeros(shape, dtype=torch.float64)
        self.step_nats, self.step_tokens = 0.0, 0

    @staticmethod
    def of(config: Config, num_layers: int, device: torch.device) -> UsageWithPadding | None:
        """None for a run without routed layers, or without padding in its loss."""
        return (
            UsageWithPadding(config, num_layers, device)
            if num_layers and config.data.padding_in_loss
            else None
        )

    @torch.compiler.disable
    def add_(self, routings: Sequence[Selection | None], batch: Batch, nats_N: Tensor) -> None:
        """The selections of one micro-batch, padding included, and the nats of its tokens in the loss."""
        meaning_N = batch.meaning_BT[batch.counted_BT]
        self.step_nats += float(nats_N[meaning_N].double().sum())
        self.step_tokens += int(meaning_N.sum())
        chosen = [selection.indices_TK for selection in routings if selection is not None]
        self._count_(0, chosen)
        if len(self.step_counts) > 1:
            meaning_T = batch.meaning_BT.reshape(-1)
            self._count_(1, [indices_TK[meaning_T] for indices_TK in chosen])

    def _count_(self, way: int, chosen: Sequence[Tensor]) -> None:
        for count_E, indices_TK in zip(self.step_counts[way], chosen, strict=True):
            count_E += torch.bincount(indices_TK.reshape(-1), minlength=len(count_E))

    def finish_step_(self, world: World) -> float:
        """Take the counts of all micro-batches and ranks into the usage. Returns the step's loss without
        padding."""
        flat = self.step_counts.double().cpu()
        nats, num_tokens = self.step_nats, float(self.step_tokens)
        if world.size > 1:
            nats, num_tokens, *counts = world.sum(nats, num_tokens, *flat.reshape(-1).tolist())
            flat = torch.tensor(counts).double().view_as(flat)
        self.usage = self.usage + flat if self.decay is None else self.usage.lerp(flat, 1 - self.decay)
        self.step_counts.zero_()
        self.step_nats, self.step_tokens = 0.0, 0
        return nats / max(1.0, num_tokens)

    def measures(self) -> list[dict[str, float]]:
        """Gini and entropy of every layer, under names that say how they were counted."""
        return [
            {
                name: measure(use_E)
                for names, use_E in zip(NAMES, usage_WE, strict=False)
                for name, measure in zip(names, (measures.gini, measures.entropy_bits), strict=True)
            }
            for usage_WE in self.usage.transpose(0, 1)
        ]

    def state(self) -> list[list[float]]:
        """A row for each layer, first of all with padding, then without."""
        return self.usage.flatten(0, 1).tolist()

    def load_(self, state: Any) -> None:
        """Continue from the usage at a checkpoint. Raises ValueError for another model's."""
        usage, rows = torch.tensor(state, dtype=torch.float64), self.usage.flatten(0, 1)
        if usage.shape != rows.shape:
            raise ValueError(f"usage of {tuple(usage.shape)} for a model of {tuple(rows.shape)}")
        self.usage = usage.view_as(self.usage)


def with_usage(layers: list[dict[str, float]], usage: UsageWithPadding | None) -> list[dict[str, float]]:
    """Measures of layers with those of the usage with padding added."""
    if usage is None:
        return layers
    return [{**layer, **more} for layer, more in zip(layers, usage.measures(), strict=True)]
