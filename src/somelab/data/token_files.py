"""Token files of prepared data, verified when they are opened: a flipped bit would train another model. A
process verifies a file once, and again if the file is another one or was written since.

Everything is derived from what the meta file has held from its first version on, so that caches of earlier
versions are verified too: the digest of each split's tokens, and one over these facts and the tokenizer.
Where documents end is read from the tokens: each ends with `<|endoftext|>`, which no text can produce."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somelab.data.tokenizer import END_OF_TEXT_ID
from somelab.disk import guarded

BYTES_PER_READ = 1 << 22
DTYPES = ("uint16", "uint32")
MOST_VERIFIED = 16
"""Files whose offsets are kept."""
SECONDS_TO_SETTLE = 0.1
"""File systems count time in steps of some milliseconds: a file that was written this recently may be written
again without a sign of it."""

_verified: OrderedDict[tuple[object, ...], NDArray[np.int64]] = OrderedDict()


def tokens_digest() -> hashlib.blake2b:
    """The digest of a split, to be updated with its tokens."""
    return hashlib.blake2b(digest_size=20)


def data_digest(tokenizer_digest: str, splits: Mapping[str, Any]) -> str:
    """Identifies tokenizer and tokens."""
    content = json.dumps([tokenizer_digest, splits], sort_keys=True)
    return hashlib.blake2b(content.encode(), digest_size=6).hexdigest()


def check_meta(meta: Mapping[str, Any], tokenizer_json: str) -> None:
    """Raise ValueError if the facts of the splits or the tokenizer are not those that were written."""
    tokenizer_digest = hashlib.blake2b(tokenizer_json.encode(), digest_size=6).hexdigest()
    if meta["digest"] != data_digest(tokenizer_digest, meta["splits"]):
        raise ValueError("the digest of meta.json and tokenizer.json differs")
    if meta["dtype"] not in DTYPES:
        raise ValueError(f"meta.json names tokens of type {meta['dtype']!r}")


def open_tokens(folder: Path, name: str, meta: Mapping[str, Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Tokens, mapped from their file, and offsets of a split. Raises ValueError, KeyError, TypeError or
    OSError."""
    facts, dtype = meta["splits"][name], np.dtype(meta["dtype"])
    path = folder / f"{name}.bin"
    if path.stat().st_size != facts["num_tokens"] * dtype.itemsize:
        raise ValueError(f"{path.name} does not hold {facts['num_tokens']} tokens")
    offsets = _offsets(path, dtype, facts["digest"])
    if len(offsets) != facts["num_documents"] + 1 or offsets[-1] != facts["num_tokens"]:
        raise ValueError(f"{path.name} does not hold {facts['num_documents']} documents")
    tokens = np.memmap(path, dtype, mode="r") if facts["num_tokens"] else np.zeros(0, dtype)
    return tokens, offsets


def _offsets(path: Path, dtype: np.dtype[Any], digest: str) -> NDArray[np.int64]:
    """Where the documents begin and end, read from the tokens, whose digest has to fit."""
    state, ends, position = tokens_digest(), [np.zeros(1, np.int64)], 0
    with guarded.open_read(path, inside=path.parent) as file:
        found = os.fstat(file.fileno())
        identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        key = (*identity, dtype.name, digest)
        # `get`, and no look before it: another thread may drop the entry meanwhile.
        if (known := _verified.get(key)) is not None:
            return known
        while block := file.read(BYTES_PER_READ):
            state.update(block)
            tokens = np.frombuffer(block, dtype)
            ends.append(np.flatnonzero(tokens == END_OF_TEXT_ID) + (position + 1))
            position += len(tokens)
    if state.hexdigest() != digest:
        raise ValueError(f"the digest of {path.name} differs")
    offsets = np.concatenate(ends)
    offsets.flags.writeable = False  # others get the same array
    if time.time() - max(found.st_mtime, found.st_ctime) > SECONDS_TO_SETTLE:
        _verified[key] = offsets
        while len(_verified) > MOST_VERIFIED:
            _verified.popitem(last=False)
    return offsets
