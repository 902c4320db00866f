"""The file of one key snapshot: safetensors with a digest of the tensors in its metadata, so that a flipped
bit does not become a key that never was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from somelab.disk import guarded
from somelab.disk.checked_json import loads

if TYPE_CHECKING:
    from torch import Tensor

LARGEST = 1 << 30
"""Bytes of a snapshot."""
METADATA = "__metadata__"


def packed(tensors: Mapping[str, Tensor]) -> bytes:
    """The content of a file."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(tensor.numpy()) for name, tensor in tensors.items()}
    return save(arrays, metadata={"digest": _digest(arrays)})


def unpacked(path: Path, *, inside: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file, verified unless an earlier version wrote it without a digest. Raises OSError,
    ValueError, SafetensorError or GuardError."""
    from safetensors.numpy import load

    content = guarded.read_bytes(path, limit=LARGEST, inside=inside)
    arrays = load(content)
    header = loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    if METADATA in header and header[METADATA].get("digest") != _digest(arrays):
        raise ValueError("its digest differs")
    return arrays


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    state = hashlib.blake2b(digest_size=16)
    for name, array in sorted(arrays.items()):
        state.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()
