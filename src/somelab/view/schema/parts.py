"""The smallest pieces of the page's contract, which all its other models are made of: a node, a packed array,
an interval."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Number = float | None


class Part(BaseModel):
    """One node of the tree."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, protected_namespaces=()
    )


class Packed(Part):
    """A large array: base64 of its little-endian values, the last axis fastest."""

    dtype: Literal["uint8", "uint16", "int16", "int32", "float32"]
    shape: list[int]
    data: str


class Interval(Part):
    """A mean over seeds with its 95 % interval; null for a single value."""

    mean: Number
    low: Number
    high: Number
    num: int
    values: list[Number]
