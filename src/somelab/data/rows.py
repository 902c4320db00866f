"""Which tokens are in which row: packed without gaps, padded, or packed whole for evaluation. A row is T + 1
tokens. Row i is a function of i, so that resuming, ranks and batch sizes need no further state.

Shape letters: R rows, T tokens of a sequence, S = T + 1 tokens of a row (inputs are the first T, targets the
last T)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from somelab.core.seeding import generator
from somelab.data.prepare import Split
from somelab.data.tokenizer import PAD_ID

Tokens = NDArray[np.int64]
# Rows that are open at a time while evaluation is packed: few, so that documents stay close to their order.
OPEN_ROWS = 32
SHORTEST_PIECE = 2


class EndlessRows(Protocol):
    """The rows of all epochs, numbered without end."""

    def read(self, first: int, num_rows: int) -> Tokens: ...

    def epoch_of(self, row: int) -> int: ...

    def num_batches_per_epoch(self, batch_size: int) -> int: ...


def document_order(num_documents: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """The order in which an epoch reads the documents."""
    return torch.randperm(num_documents, generator=generator(seed, "document order", step=epoch)).numpy()


class PackedRows:
    """Shuffled documents end to end, epoch after epoch: one endless stream; row i starts at token i T.

    Rows share one token, the last target of one being the first input of the next: so each token of the
    stream is a target once, an epoch may end within a row, and no token is left out."""

    def __init__(self, split: Split, seq_len: int, seed: int) -> None:
        self.split, self.seq_len, self.seed = split, seq_len, seed
        self._order = lru_cache(maxsize=2)(self._new_order)

    def read(self, first: int, num_rows: int) -> Tokens:
        stream = self._stream(first * self.seq_len, num_rows * self.seq_len + 1)
        return np.lib.stride_tricks.sliding_window_view(stream, self.seq_len + 1)[:: self.seq_len].copy()

    def epoch_of(self, row: int) -> int:
        return row * self.seq_len // self.split.num_tokens

    def num_batches_per_epoch(self, batch_size: int) -> int:
        return self.split.num_tokens // (batch_size * self.seq_len)

    def _new_order(self, epoch: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        order = document_order(self.split.num_documents, self.seed, epoch)
        return order, np.cumsum(np.diff(self.split.offsets)[order])

    def _stream(self, start: int, num_tokens: int) -> Tokens:
        pieces: list[NDArray[Any]] = []
        while num_tokens:
            epoch, place = divmod(start, self.split.num_tokens)
            order, ends = self._order(epoch)
            rank = int(np.searchsorted(ends, place, side="right"))
            end_of_document = int(self.split.offsets[order[rank] + 1])
            begin = end_of_document - (int(ends[rank]) - place)
            piece = self.split.tokens[begin : min(end_of_document, begin + num_tokens)]
            pieces.append(piece)
            start, num_tokens = start + len(piece), num_tokens - len(piece)
        return np.concatenate(pieces, dtype=np.int64)


class PaddedRows:
    """One shuffled document a row, cut behind T + 1 tokens or filled up with padding, epoch after epoch."""

    def __init__(self, split: Split, seq_len: int, seed: int) -> None:
        self.split, self.seq_len, self.seed = split, seq_len, seed
        self._order = lru_cache(maxsize=2)(self._new_order)

    def read(self, first: int, num_rows: int) -> Tokens:
        places = (divmod(row, self.split.num_documents) for row in range(first, first + num_rows))
        return padded(self.split, [int(self._order(epoch)[place]) for epoch, place in places], self.seq_len)

    def epoch_of(self, row: int) -> int:
        return row // self.split.num_documents

    def num_batches_per_epoch(self, batch_size: int) -> int:
        return self.split.num_documents // batch_size

    def _new_order(self, epoch: int) -> NDArray[np.int64]:
        return document_order(self.split.num_documents, self.seed, epoch)


def padded(split: Split, documents: list[int], seq_len: int) -> Tokens:
    """One row for each document."""
    rows_RS = np.full((len(documents), seq_len + 1), PAD_ID, dtype=np.int64)
    for row_S, document in zip(rows_RS, documents):
        begin, end = split.offsets[document], split.offsets[document + 1]
        piece = split.tokens[begin : min(end, begin + seq_len + 1)]
        row_S[: len(piece)] = piece
    return rows_RS


Piece = tuple[int, int]
"""First token and length of a document, or of a part of one."""


def pack_whole(split: Split, seq_len: int) -> list[list[Piece]]:
    """Rows for evaluation: a document that fits is never cut, so its loss is that of reading it alone.

    A longer one continues in further rows, each beginning with the last target of the one before (whose
    context is lost). Each piece goes to the fullest of the last few rows that can take it."""
    rows: list[list[Piece]] = []
    space: dict[int, int] = {}
    for begin, end in zip(split.offsets[:-1].tolist(), split.offsets[1:].tolist()):
        for start in range(begin, end - 1, seq_len):
            length = min(seq_len + 1, end - start)
            fitting = [row for row in space if space[row] >= length]
            row = min(fitting, key=lambda row: space[row]) if fitting else len(rows)
            if row == len(rows):
                rows.append([])
                space[row] = seq_len + 1
                if len(space) > OPEN_ROWS:
                    del space[min(space)]
            rows[row].append((start, length))
            space[row] -= length
            if space[row] < SHORTEST_PIECE:
                del space[row]
    return rows


def fill(split: Split, rows: list[list[Piece]], seq_len: int) -> Tokens:
    """The tokens of packed rows, with padding behind them."""
    rows_RS = np.full((len(rows), seq_len + 1), PAD_ID, dtype=np.int64)
    for row_S, pieces in zip(rows_RS, rows):
        place = 0
        for start, length in pieces:
            row_S[place : place + length] = split.tokens[start : start + length]
            place += length
    return rows_RS
