"""The compiled kernel of carved feed-forward blocks: a call of carved.cpp with memory addresses of tensors.

Shape letters: D model width, K groups in use."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from somelab.native.calls import INT, POINTER, SIZE, addresses


class NativeGroups:
    """Adds the groups in use for one token, on CPU in fp32. Uses as many threads as torch does."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._call = library.carved_groups
        self._call.argtypes = [*[POINTER] * 6, SIZE, SIZE, SIZE, INT]
        self._call.restype = None

    def add_groups_(
        self, y_D: Tensor, x_D: Tensor, used_K: Tensor, gate_up: Tensor, down: Tensor, mean: Tensor
    ) -> None:
        """y += sum over the groups in use of D_e (silu(G_e x) * (U_e x) - mean_e)."""
        assert used_K.dtype == torch.int64
        sizes = (used_K.shape[0], down.shape[1], down.shape[2], torch.get_num_threads())
        self._call(*addresses(y_D, x_D, used_K, gate_up, down, mean), *sizes)
