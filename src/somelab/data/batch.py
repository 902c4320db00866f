"""The batch of one step: inputs, targets, and which positions count. All of it is derived from rows of T + 1
tokens.

A position counts when its target belongs to the same document as its input: the end of a text is predicted
and counts; the first token of a text has no context and does not, nor does padding. So a document of n tokens
counts n times, packed or padded, and losses are comparable. Shape letters: B sequences, T tokens, S = T + 1
tokens of a row, V vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from somelab.data.tokenizer import END_OF_TEXT_ID, PAD_ID

# Counts per row stay in CPU memory, so that reading them does not synchronise with a device.
ON_CPU = ("num_counted_B", "num_bytes_B")


@dataclass(frozen=True)
class Batch:
    """Sequences in the order of the global batch."""

    tokens_BT: Tensor
    targets_BT: Tensor
    """targets[t] follows tokens[t]."""
    counted_BT: Tensor
    """bool: positions that carry loss."""
    token_index_BT: Tensor
    """Place in the global batch, over ranks and micro-batches: row x T + t, for counter-based random
    draws."""
    documents_BT: Tensor | None
    """Packed: number of the document within its row, for attention and positions. None: one document a
    row."""
    counted_with_padding_BT: Tensor | None
    """Padded: the same with padding, for the loss of v1-v4 (`loss_with_padding`). None when packed."""
    num_counted_B: Tensor
    num_bytes_B: Tensor
    num_counted_global: int
    """Counted positions over all ranks: what the loss of a step is divided by."""

    @property
    def num_counted(self) -> int:
        return int(self.num_counted_B.sum())

    @property
    def num_bytes(self) -> int:
        """UTF-8 bytes of the counted targets: bits per byte are nats / ln 2 / bytes."""
        return int(self.num_bytes_B.sum())

    @property
    def meaning_BT(self) -> Tensor:
        """counted_BT without padding, also where padding is in the loss."""
        return self.counted_BT & (self.tokens_BT != END_OF_TEXT_ID) & (self.targets_BT != PAD_ID)

    def moving_BT(self, *, with_padding: bool) -> Tensor:
        """Tokens that enter the statistics of gravity: those of meaning, or padding too."""
        return self.counted_BT if with_padding else self.meaning_BT

    def micro_batches(self, num_rows: int) -> list[Batch]:
        """The batch in pieces of `num_rows` sequences, in order; the last may be smaller."""
        return [
            self._rows(slice(first, first + num_rows)) for first in range(0, len(self.tokens_BT), num_rows)
        ]

    def to(self, device: torch.device) -> Batch:
        """The batch on a device. From pinned memory the copy is asynchronous."""
        return replace(
            self,
            **{
                name: x.to(device, non_blocking=True)
                for name, x in self._tensors().items()
                if name not in ON_CPU
            },
        )

    def pinned(self) -> Batch:
        return replace(
            self, **{name: x.pin_memory() for name, x in self._tensors().items() if name not in ON_CPU}
        )

    def _rows(self, rows: slice) -> Batch:
        return replace(self, **{name: tensor[rows] for name, tensor in self._tensors().items()})

    def _tensors(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}


def batch_of(
    rows_BS: NDArray[np.int64], num_bytes_V: NDArray[np.int64], *, packed: bool, padding_in_loss: bool = False
) -> Batch:
    """A global batch from its rows of T + 1 tokens. Rows that begin with padding are blank and do not
    count."""
    tokens_BT, targets_BT = rows_BS[:, :-1], rows_BS[:, 1:]
    is_end_BT = tokens_BT == END_OF_TEXT_ID
    counted_with_padding_BT = np.broadcast_to(tokens_BT[:, :1] != PAD_ID, tokens_BT.shape)
    counted_BT = counted_with_padding_BT if padding_in_loss else ~is_end_BT & (targets_BT != PAD_ID)
    num_counted_B = counted_BT.sum(1)

    def tensor(values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.array(values))

    return Batch(
        tokens_BT=tensor(tokens_BT),
        targets_BT=tensor(targets_BT),
        counted_BT=tensor(counted_BT),
        token_index_BT=torch.arange(tokens_BT.size).view(tokens_BT.shape),
        documents_BT=tensor(np.cumsum(is_end_BT, axis=1) - is_end_BT) if packed else None,
        counted_with_padding_BT=None if packed else tensor(counted_with_padding_BT),
        num_counted_B=tensor(num_counted_B),
        num_bytes_B=tensor((num_bytes_V[targets_BT] * counted_BT).sum(1)),
        num_counted_global=int(num_counted_B.sum()),
    )


def rank_rows(batch: Batch, rank: int, world_size: int) -> Batch:
    """The share of one rank: consecutive sequences, equally many for each rank."""
    num_rows = len(batch.tokens_BT) // world_size
    assert num_rows * world_size == len(batch.tokens_BT)
    return batch.micro_batches(num_rows)[rank]
