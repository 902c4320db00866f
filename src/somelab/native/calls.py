"""The functions of the compiled library, one for each type that they are compiled for."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

NAMES = {torch.float32: "float32", torch.bfloat16: "bfloat16"}
POINTER, SIZE, WORD, INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64, ctypes.c_int
FLOAT = ctypes.c_float


def calls_of(
    library: ctypes.CDLL, arguments: Mapping[str, Sequence[Any]], dtypes: Sequence[torch.dtype] = tuple(NAMES)
) -> dict[str, dict[torch.dtype, Any]]:
    """Every named function by type, with the types of its arguments. AttributeError: it is missing."""
    calls = {
        name: {dtype: getattr(library, f"{name}_{NAMES[dtype]}") for dtype in dtypes} for name in arguments
    }
    for name, by_type in calls.items():
        for call in by_type.values():
            call.argtypes, call.restype = arguments[name], None
    return calls


def addresses(*tensors: Tensor | None) -> list[int | None]:
    """Memory addresses carry no strides, so those are checked here."""
    assert all(tensor is None or tensor.is_contiguous() for tensor in tensors)
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]
