"""A stream cut where keys may move: after the first sequence at which a given number of tokens has been read.
The cuts depend on the stream alone, so that results do not depend on batch sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch

from somelab.data.batch import Batch


@dataclass(frozen=True)
class Chunk:
    """Sequences to be scored with the same keys. `complete`: the interval is full, and keys move after it."""

    batch: Batch
    complete: bool


def chunks(batches: Iterable[Batch], every: int, carried: int = 0) -> Iterator[Chunk]:
    """The stream in chunks of at least `every` counted tokens, the first shorter by `carried`. The rest at
    the end is an incomplete chunk."""
    waiting: list[Batch] = []
    num_counted = carried
    for batch in batches:
        first = 0
        for row, counted in enumerate(batch.num_counted_B.tolist()):
            num_counted += counted
            if num_counted >= every:
                waiting.append(rows_of(batch, first, row + 1))
                yield Chunk(joined(waiting), True)
                waiting, num_counted, first = [], 0, row + 1
        if first < len(batch.tokens_BT):
            waiting.append(rows_of(batch, first, len(batch.tokens_BT)))
    if waiting:
        yield Chunk(joined(waiting), False)


def rows_of(batch: Batch, first: int, end: int) -> Batch:
    """Some consecutive sequences of a batch."""
    names = [name for name, value in vars(batch).items() if isinstance(value, torch.Tensor)]
    return replace(batch, **{name: getattr(batch, name)[first:end] for name in names})


def joined(batches: list[Batch]) -> Batch:
    """Batches of equally long sequences as one, its tokens numbered from 0 as those of a step are."""
    first = batches[0]
    names = [name for name, value in vars(first).items() if isinstance(value, torch.Tensor)]
    together = {name: torch.cat([getattr(batch, name) for batch in batches]) for name in names}
    tokens_BT = together["tokens_BT"]
    together["token_index_BT"] = torch.arange(tokens_BT.numel(), device=tokens_BT.device).view(
        tokens_BT.shape
    )
    return replace(first, **together, num_counted_global=int(together["num_counted_B"].sum()))
