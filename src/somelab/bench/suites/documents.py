"""Text for whole training steps: given by `--data`, or made up of documents as long as TinyStories are in an
8k vocabulary. Timings depend on lengths and token frequencies, not on meaning.

Shape letters: V vocabulary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from somelab.config import Config, override
from somelab.data.batch import Batch, batch_of
from somelab.data.prepare import Split, prepare
from somelab.data.rows import PackedRows, PaddedRows
from somelab.data.tokenizer import END_OF_TEXT_ID, PAD_ID

# Tokens of a TinyStories document, its end included: quantiles over 10,000 of them, with a BPE of 8,192.
SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99, 1.0)
LENGTHS = (59, 126, 136, 149, 159, 168, 177, 187, 200, 221, 238, 274, 385, 454, 565, 995)
NUM_DOCUMENTS = 2000


def made_up(vocab_size: int, num_documents: int = NUM_DOCUMENTS, seed: int = 0) -> Split:
    """Documents of those lengths; the r-th token of the vocabulary comes with weight 1/r (Zipf), as words
    do."""
    rng = np.random.default_rng(seed)
    lengths = np.interp(rng.random(num_documents), SHARES, LENGTHS).astype(np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    words = np.arange(max(END_OF_TEXT_ID, PAD_ID) + 1, vocab_size)
    weights = 1.0 / np.arange(1, len(words) + 1)
    tokens = rng.choice(words, size=int(offsets[-1]), p=weights / weights.sum())
    tokens[offsets[1:] - 1] = END_OF_TEXT_ID
    return Split(tokens, offsets, num_bytes=len(tokens))


def documents(config: Config, source: str | None) -> tuple[Split, str]:
    """The documents, and their label. A source is prepared with the configuration's own vocabulary size."""
    if source is None:
        return made_up(config.model.vocab_size), "made-up documents of TinyStories' lengths"
    return prepare(override(config, {"data.source": source})).train, source


def batch_from(split: Split, config: Config, num_rows: int, *, packed: bool) -> Batch:
    """The first rows of the training order, packed or padded. Padding is in the loss if the configuration
    includes it."""
    rows = (PackedRows if packed else PaddedRows)(split, config.model.seq_len, config.train.seed).read(
        0, num_rows
    )
    # Bytes of tokens: no loss per byte here.
    unused: NDArray[np.int64] = np.zeros(config.model.vocab_size, dtype=np.int64)
    return batch_of(rows, unused, packed=packed, padding_in_loss=not packed and config.data.padding_in_loss)
