"""Loaders: endless shuffled batches for training, and one deterministic pass for evaluation. Every rank
builds the global batch (a small part of a step) and takes its rows, so no communication is needed.

Shape letters: B sequences, T tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np
import torch

from somelab.config import Config
from somelab.data.batch import Batch, batch_of, rank_rows
from somelab.data.prefetch import prefetched
from somelab.data.prepare import PreparedData, SplitName
from somelab.data.rows import EndlessRows, PackedRows, PaddedRows, Tokens, fill, pack_whole, padded
from somelab.data.tokenizer import PAD_ID
from somelab.errors import ConfigError, SomelabError

EVALUATION_TOKENS = 8192


class Loader:
    """Endless batches, in an order that is a function of (seed, epoch); only one iterator at a time.

    No document is skipped: where an epoch does not fill its last batch, that batch goes on with the next
    epoch, in both layouts. `num_batches_per_epoch` is rounded down."""

    def __init__(
        self,
        prepared: PreparedData,
        config: Config,
        split: SplitName = "train",
        rank: int = 0,
        world_size: int = 1,
        seed: int | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        _check_vocabulary(prepared, config)
        self.config, self.rank, self.world_size = config, rank, world_size
        self.seed = config.train.seed if seed is None else seed
        self.device = torch.device(device)
        self.batch_size = config.train.batch_size
        self.num_sequences = 0
        """Sequences of the global batches returned so far: the whole state."""
        self._prepared, self._split = prepared, prepared.split(split)
        self._packed = config.data.layout == "pack"
        self._check_size(split)
        rows = PackedRows if self._packed else PaddedRows
        self._rows: EndlessRows = rows(self._split, config.model.seq_len, self.seed)

    @property
    def num_batches_per_epoch(self) -> int:
        return self._rows.num_batches_per_epoch(self.batch_size)

    @property
    def epoch(self) -> int:
        """The epoch of the next batch's first token, counted from 0."""
        return self._rows.epoch_of(self.num_sequences)

    @property
    def num_truncated_tokens(self) -> int:
        """Tokens of an epoch that padded sequences cut off; 0 when packed."""
        lengths = np.diff(self._split.offsets)
        return 0 if self._packed else int(np.maximum(lengths - (self.config.model.seq_len + 1), 0).sum())

    def __iter__(self) -> Iterator[Batch]:
        """This rank's share of the batches from here on, on the device."""
        with closing(prefetched(self._batches(self.num_sequences))) as batches:
            for batch in batches:
                self.num_sequences += self.batch_size
                yield batch.to(self.device)

    def state_dict(self) -> dict[str, Any]:
        """The position, and the settings that must be the same on resume. The batch size may change."""
        return {"num_sequences": self.num_sequences, **self._conditions()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; call before iterating."""
        for name, here in self._conditions().items():
            if state[name] != here:
                raise SomelabError(
                    f"cannot continue the data: {name} was {state[name]!r} and is {here!r}; resume with the "
                    "same data settings"
                )
        self.num_sequences = int(state["num_sequences"])

    def _conditions(self) -> dict[str, Any]:
        data, model = self.config.data, self.config.model
        return {
            "seed": self.seed,
            "data": self._prepared.digest,
            "layout": data.layout,
            "seq_len": model.seq_len,
        }

    def _batches(self, first: int) -> Iterator[Batch]:
        while True:
            rows = self._rows.read(first, self.batch_size)
            batch = batch_of(
                rows,
                self._prepared.tokenizer.num_bytes_of_token,
                packed=self._packed,
                padding_in_loss=self.config.data.padding_in_loss,
            )
            batch = rank_rows(batch, self.rank, self.world_size)
            yield batch.pinned() if self.device.type == "cuda" else batch
            first += self.batch_size

    def _check_size(self, split: SplitName) -> None:
        seq_len = self.config.model.seq_len
        if self.batch_size % self.world_size:
            raise ConfigError(
                "train.batch_size",
                self.batch_size,
                f"cannot be shared by {self.world_size} ranks",
                "choose a multiple of their number",
            )
        if self._packed:
            has, needs, unit = self._split.num_tokens, self.batch_size * seq_len, "tokens"
        else:
            has, needs, unit = self._split.num_documents, self.batch_size, "documents"
        if has < needs:
            raise ConfigError(
                "data.source",
                self._prepared.source,
                f"has {has:,} {unit} for {split}, and one batch needs {needs:,} (batch_size {self.batch_size}"
                + (f" x seq_len {seq_len})" if self._packed else ", one document each)"),
                f"lower train.batch_size{' or model.seq_len' if self._packed else ''}, or give more text",
            )


class EvaluationLoader:
    """One pass over a split, the same each time, every document once; `len` is the number of batches.

    Packed, documents that fit a sequence are kept whole, so that the loss does not depend on layout or batch
    size. Longer ones continue in further sequences without their context (packed) or are cut (padded, as in
    training)."""

    def __init__(
        self,
        prepared: PreparedData,
        config: Config,
        split: SplitName = "val",
        rank: int = 0,
        world_size: int = 1,
        batch_size: int | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        """`batch_size`: sequences of all ranks in one pass; None: train.micro_batch_size, or 8,192 tokens,
        for each rank."""
        _check_vocabulary(prepared, config)
        self.rank, self.world_size, self.device = rank, world_size, torch.device(device)
        self.seq_len = config.model.seq_len
        usual = config.train.micro_batch_size or max(1, EVALUATION_TOKENS // self.seq_len)
        self.batch_size = usual * world_size if batch_size is None else batch_size
        self._prepared, self._split = prepared, prepared.split(split)
        self._packed = config.data.layout == "pack"
        self._whole = pack_whole(self._split, self.seq_len) if self._packed else []
        self.num_sequences = len(self._whole) if self._packed else self._split.num_documents

    def __len__(self) -> int:
        return -(-self.num_sequences // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        with closing(prefetched(self._batches())) as batches:
            for batch in batches:
                yield batch.to(self.device)

    def _batches(self) -> Iterator[Batch]:
        for first in range(0, self.num_sequences, self.batch_size):
            rows = self._read(first, min(first + self.batch_size, self.num_sequences))
            batch = batch_of(rows, self._prepared.tokenizer.num_bytes_of_token, packed=self._packed)
            batch = rank_rows(batch, self.rank, self.world_size)
            yield batch.pinned() if self.device.type == "cuda" else batch

    def _read(self, first: int, end: int) -> Tokens:
        if self._packed:
            rows = fill(self._split, self._whole[first:end], self.seq_len)
        else:
            rows = padded(self._split, list(range(first, end)), self.seq_len)
        # Sharded models need every rank in every pass: blank rows, which do not count, fill the last batch.
        return np.pad(rows, ((0, -len(rows) % self.world_size), (0, 0)), constant_values=PAD_ID)


def _check_vocabulary(prepared: PreparedData, config: Config) -> None:
    if prepared.tokenizer.vocab_size > config.model.vocab_size:
        raise ConfigError(
            "model.vocab_size",
            config.model.vocab_size,
            f"the tokenizer has {prepared.tokenizer.vocab_size} tokens",
            "choose that many or more, or prepare the data again",
        )
