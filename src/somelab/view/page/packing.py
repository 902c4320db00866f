"""Numbers for JSON: large arrays as base64 of typed values, small ones rounded, none that JSON cannot
write."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from somelab.view.schema.page import Packed

DIGITS = 6


def packed(values: NDArray[Any]) -> Packed:
    """An array as it is, in the byte order that browsers have."""
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    data = base64.b64encode(np.ascontiguousarray(little).tobytes()).decode("ascii")
    return Packed(dtype=cast(Any, values.dtype.name), shape=list(values.shape), data=data)


def unpacked(array: Packed) -> NDArray[Any]:
    """The array of a `Packed`, for figures and tests."""
    dtype = np.dtype(array.dtype).newbyteorder("<")
    return np.frombuffer(base64.b64decode(array.data), dtype).reshape(array.shape)


def number(value: Any) -> float | None:
    """A finite number with as many digits as a plot can show; None for anything else, so that one bad record
    does not break a curve."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        known = float(value)
    except OverflowError:  # JSON may hold an integer of any length
        return None
    return float(f"{known:.{DIGITS}g}") if math.isfinite(known) else None


def numbers(values: Iterable[Any]) -> list[float | None]:
    return [number(value) for value in values]


def log_quantised(values: NDArray[Any]) -> tuple[NDArray[np.uint8], float]:
    """Non-negative values in 256 steps that are even on a log scale, and the largest: x = expm1(q / 255 *
    log1p(largest))."""
    clean = np.nan_to_num(np.maximum(values.astype(np.float64), 0.0), posinf=0.0)
    largest = float(clean.max(initial=0.0))
    scale = 255.0 / math.log1p(largest) if largest else 0.0
    return np.rint(np.log1p(clean) * scale).astype(np.uint8), largest


def quantised(values: NDArray[Any]) -> tuple[NDArray[np.uint8], float]:
    """Non-negative values in 256 even steps, and the largest: x = q / 255 * largest."""
    clean = np.nan_to_num(np.maximum(values.astype(np.float64), 0.0), posinf=0.0)
    largest = float(clean.max(initial=0.0))
    return np.rint(clean * (255.0 / largest if largest else 0.0)).astype(np.uint8), largest
