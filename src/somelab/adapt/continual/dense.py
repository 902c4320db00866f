"""Learners of a dense model: fine-tuning, elastic weight consolidation, replay, and joint training."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from somelab.adapt.continual.base import Learner, rows_in
from somelab.adapt.reading.chunks import joined, rows_of
from somelab.core.seeding import generator
from somelab.data.batch import Batch
from somelab.model import Decoder, feedforward
from somelab.model.decoder import Block
from somelab.training.machine.precision import autocast

EWC_STRENGTH = 3000.0
EWC_SEQUENCES = 64
REPLAY_SEQUENCES = 512
BYTES_PER_TOKEN = 2
"""Of stored text: the vocabularies here have fewer than 65,536 tokens."""


def blocks_of(model: Decoder) -> list[tuple[Block, feedforward.Dense]]:
    """The blocks of a dense model with their feed-forward parts."""
    found: list[tuple[Block, feedforward.Dense]] = []
    for block in model.blocks:
        assert isinstance(block, Block)
        assert isinstance(block.feed_forward, feedforward.Dense)
        found.append((block, block.feed_forward))
    return found


class Dense(Learner):
    """Fine-tuning of a dense model."""

    feed_forward = "dense"


class Consolidation(Dense):
    """Elastic weight consolidation: a penalty on changing weights that earlier experiences depend on.

    loss + strength / 2 * sum_k F_k (w_k - w*_k)^2, F the diagonal Fisher information, summed over
    experiences; w* the weights at the end of the last one."""

    def __init__(self, model: Decoder, learning_rate: float, seed: int) -> None:
        super().__init__(model, learning_rate, seed)
        self.fisher = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.anchor = [parameter.detach().clone() for parameter in self.parameters]

    def penalise_(self) -> None:
        for parameter, fisher, anchor in zip(self.parameters, self.fisher, self.anchor, strict=True):
            assert parameter.grad is not None
            parameter.grad += EWC_STRENGTH * fisher * (parameter.detach() - anchor)

    def finish(self, batches: Callable[[], Iterable[Batch]]) -> None:
        """F += mean over sequences of the squared gradient of a sequence's mean loss."""
        num = 0
        sums = [torch.zeros_like(fisher) for fisher in self.fisher]
        for row in rows_in(batches(), EWC_SEQUENCES):
            row = row.to(self.device)
            with torch.enable_grad(), autocast(self.dtype, self.device):
                (self._nats(row) / max(1, row.num_counted)).backward()
            for one, parameter in zip(sums, self.parameters, strict=True):
                if parameter.grad is not None:
                    one += parameter.grad.square()
                parameter.grad = None
            num += 1
        for fisher, one, anchor, parameter in zip(
            self.fisher, sums, self.anchor, self.parameters, strict=True
        ):
            fisher += one / max(1, num)
            anchor.copy_(parameter.detach())

    @property
    def stored_bytes(self) -> int:
        """The Fisher information. The anchor is the model itself, at the end of an experience."""
        return sum(fisher.numel() * fisher.element_size() for fisher in self.fisher)

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "strength": EWC_STRENGTH}


class Replay(Dense):
    """A reservoir of sequences: every sequence of the stream has the same chance to be in it. Half of each
    step's sequences are drawn from it, in the place of new ones, so that tokens stay equal."""

    def __init__(self, model: Decoder, learning_rate: float, seed: int) -> None:
        super().__init__(model, learning_rate, seed)
        self.reservoir: list[Batch] = []
        self.num_seen = 0
        self._random = generator(seed, "replay")

    def taught(self, batch: Batch) -> Batch:
        num_rows = len(batch.tokens_BT)
        num_old = min(num_rows // 2, len(self.reservoir))
        old = [self.reservoir[self._below(len(self.reservoir))] for _ in range(num_old)]
        fresh = [rows_of(batch, row, row + 1) for row in range(num_rows)]
        for row in fresh:
            self.keep_(row)
        return joined([*fresh[num_old:], *old])

    def keep_(self, row: Batch) -> None:
        """Reservoir sampling: the n-th sequence takes a random place with probability size / n."""
        self.num_seen += 1
        if len(self.reservoir) < REPLAY_SEQUENCES:
            self.reservoir.append(row)
        elif (place := self._below(self.num_seen)) < REPLAY_SEQUENCES:
            self.reservoir[place] = row

    def finish(self, batches: Callable[[], Iterable[Batch]]) -> None:
        """The first experience was learned before the stream began, so its sequences are added here."""
        if not self.num_seen:
            for row in rows_in(batches(), REPLAY_SEQUENCES):
                self.keep_(row.to(self.device))

    def _below(self, number: int) -> int:
        return int(torch.randint(number, (1,), generator=self._random))

    @property
    def stored_bytes(self) -> int:
        """The text of the reservoir, two bytes a token."""
        return BYTES_PER_TOKEN * sum(row.tokens_BT.numel() for row in self.reservoir)

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "reservoir_sequences": len(self.reservoir)}


class Joint(Dense):
    """All experiences mixed from the start: a bound for learners of a stream."""
