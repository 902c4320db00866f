"""Streams of token ids without a tokenizer, for the small decoders of tests/model.

Shape letters: R rows, S = T + 1 tokens of a row."""

from __future__ import annotations

import numpy as np

from somelab.data.batch import Batch, batch_of
from somelab.data.tokenizer import END_OF_TEXT_ID, PAD_ID
from tests.model.builders import VOCABULARY

SEQ_LEN = 16
KINDS = ("random", "constant", "alternating", "lengths")


def rows_of_kind(
    kind: str, num_rows: int, seed: int = 0, vocabulary: int = VOCABULARY, seq_len: int = SEQ_LEN
) -> np.ndarray:
    """Rows of T + 1 tokens. `lengths`: from one token to a full row, the rest padding. Two ids are special,
    and not drawn."""
    rng = np.random.default_rng(seed)
    rows_RS = rng.integers(2, vocabulary, (num_rows, seq_len + 1))
    half = (vocabulary + 2) // 2
    if kind == "constant":
        rows_RS[:] = vocabulary - 1
    elif kind == "alternating":
        low, high = rng.integers(2, half, rows_RS.shape), rng.integers(half, vocabulary, rows_RS.shape)
        rows_RS = np.where((np.arange(num_rows) // 8 % 2)[:, None] == 0, low, high)
    elif kind == "lengths":
        for row, length in zip(rows_RS, rng.choice([1, 2, 3, seq_len, seq_len + 1], num_rows)):
            row[length:] = PAD_ID
            if 1 < length <= seq_len:
                row[length - 1] = END_OF_TEXT_ID
    return rows_RS


def batches_of(rows_RS: np.ndarray, batch_size: int) -> list[Batch]:
    num_bytes_V = np.ones(max(VOCABULARY, int(rows_RS.max()) + 1), dtype=np.int64)
    return [
        batch_of(rows_RS[first : first + batch_size], num_bytes_V, packed=False)
        for first in range(0, len(rows_RS), batch_size)
    ]


def stream_of(kind: str = "random", num_rows: int = 24, batch_size: int = 4, seed: int = 0) -> list[Batch]:
    return batches_of(rows_of_kind(kind, num_rows, seed), batch_size)
