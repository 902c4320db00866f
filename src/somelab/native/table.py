"""The compiled kernels as the table that dispatch engines use: each step is a call with the memory addresses
of its tensors.

Shape letters: T tokens, N rows of one block, F hidden width, V vocabulary, W any width."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from somelab.native.attention import NativeAttention
from somelab.native.calls import INT, NAMES, POINTER, SIZE, addresses, calls_of
from somelab.native.carved import NativeGroups
from somelab.native.experts import NativeExperts
from somelab.native.hadamard import NativeHadamard
from somelab.native.int8 import NativeInt8
from somelab.native.norms import NativeNorms
from somelab.native.routing import NativeRouting

_ARGUMENTS = {
    "gather": [*[POINTER] * 5, SIZE, SIZE, INT],
    "activate": [*[POINTER] * 3, SIZE, SIZE, INT],
    "differentiate": [*[POINTER] * 4, SIZE, SIZE, INT],
    "mix": [*[POINTER] * 5, SIZE, SIZE, INT],
}
_LOSS = {"cross_entropy": [*[POINTER] * 4, SIZE, SIZE, INT]}


class NativeKernels:
    """Implements `somelab.core.dispatch.kernels.Kernels` on CPU in fp32 and bf16. Uses as many threads as
    torch does."""

    adds_bias = True

    def __init__(self, library: ctypes.CDLL) -> None:
        self._calls = calls_of(library, _ARGUMENTS) | calls_of(library, _LOSS, (torch.float32,))
        self.experts = NativeExperts(library)
        self.hadamard = NativeHadamard(library)
        self.groups = NativeGroups(library)
        self.attention = NativeAttention(library)
        self.int8 = NativeInt8(library)
        self.routing = NativeRouting(library)
        self.norms = NativeNorms(library)

    def supports(self, device_type: str, dtype: torch.dtype) -> bool:
        return device_type == "cpu" and dtype in NAMES

    def gather(self, source_TW: Tensor, token_N: Tensor, out_NW: Tensor) -> None:
        self._gather(source_TW, token_N, None, out_NW, None)

    def gather_dot(
        self, source_TW: Tensor, token_N: Tensor, bias_W: Tensor | None, out_NW: Tensor, dot_N: Tensor
    ) -> None:
        if bias_W is None:
            dot_N.zero_()
        self._gather(source_TW, token_N, bias_W, out_NW, dot_N)

    def _gather(
        self, source_TW: Tensor, token_N: Tensor, bias_W: Tensor | None, out_NW: Tensor, dot_N: Tensor | None
    ) -> None:
        self._call("gather", out_NW, source_TW, token_N, bias_W, out_NW, dot_N)

    def activate(self, product_NF: Tensor, bias_F: Tensor, out_NF: Tensor) -> None:
        self._call("activate", product_NF, product_NF, bias_F, out_NF)

    def differentiate_(self, grad_NF: Tensor, product_NF: Tensor, bias_F: Tensor, dot_N: Tensor) -> None:
        self._call("differentiate", grad_NF, grad_NF, product_NF, bias_F, dot_N)

    def mix_(
        self, target_TW: Tensor, token_N: Tensor, product_NW: Tensor, bias_W: Tensor | None, gate_N: Tensor
    ) -> None:
        self._call("mix", product_NW, target_TW, token_N, product_NW, bias_W, gate_N)

    def cross_entropy_(
        self, product_NV: Tensor, bias_V: Tensor | None, targets_N: Tensor, nats_N: Tensor
    ) -> None:
        self._call("cross_entropy", product_NV, product_NV, bias_V, targets_N, nats_N)

    def _call(self, name: str, block_NW: Tensor, *tensors: Tensor | None) -> None:
        """`block_NW` gives rows, width and type."""
        rows, width = block_NW.shape
        self._calls[name][block_NW.dtype](*addresses(*tensors), rows, width, torch.get_num_threads())
