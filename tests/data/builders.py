"""Small texts and hand-made documents for the tests of what a model reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from somelab.config import Config, DataConfig, override
from somelab.data.prepare import PreparedData, Split
from somelab.data.sources import Source, open_source
from somelab.data.tokenizer import END_OF_TEXT_ID, Tokenizer

# Documents of 3, 2 and 5 tokens; in the arrays of the tests 0 is the end of a text and 1 is padding.
BY_HAND = ([10, 11, 12], [20, 21], [30, 31, 32, 33, 34])


@cache
def byte_tokenizer() -> Tokenizer:
    """A token for each byte and no more: every ordinary token is one byte long."""
    return Tokenizer.train([], 258)


def split_of(documents: Sequence[Sequence[int]]) -> Split:
    tokens = [token for document in documents for token in (*document, END_OF_TEXT_ID)]
    offsets = np.cumsum([0] + [len(document) + 1 for document in documents])
    return Split(np.array(tokens, dtype=np.uint16), offsets, num_bytes=sum(map(len, documents)))


def prepared_of(documents: Sequence[Sequence[int]], digest: str = "by hand") -> PreparedData:
    """The same documents for training and validation."""
    split = split_of(documents)
    return PreparedData("by hand", digest, byte_tokenizer(), split, split)


def config_of(**settings: Any) -> Config:
    """A config with settings by name: `batch_size=2` is train.batch_size."""
    groups = {
        "batch_size": "train",
        "micro_batch_size": "train",
        "seed": "train",
        "seq_len": "model",
        "vocab_size": "model",
    }
    return override(
        Config(), {f"{groups.get(name, 'data')}.{name}": value for name, value in settings.items()}
    )


def source_of(source: Path | str, **settings: Any) -> Source:
    return open_source(DataConfig(source=str(source), **settings))


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_rows(path: Path, texts: list[Any], column: str = "text") -> Path:
    """A .jsonl file."""
    return write(
        path, "".join(json.dumps({"id": number, column: text}) + "\n" for number, text in enumerate(texts))
    )
