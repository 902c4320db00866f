"""The layer for library users: the first forward pass loads compiled kernels, which `somelab train` loads at
its start."""

from __future__ import annotations

from somelab.core.dispatch.kernels import load_with_
from somelab.core.layer import LayerOutput, SomeLayer
from somelab.native import load

load_with_(load)

__all__ = ["LayerOutput", "SomeLayer"]
