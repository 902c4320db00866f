"""The compiled kernels as the table that dispatch engines use: each step is a call with the memory addresses
of its tensors.

Shape letters: T tokens, N rows of one block, F hidden width, W any width."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

NAMES = {torch.float32: "float32", torch.bfloat16: "bfloat16"}
_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
_ARGUMENTS = {
    "gather": [*[_POINTER] * 5, _SIZE, _SIZE, _INT],
    "activate": [*[_POINTER] * 3, _SIZE, _SIZE, _INT],
    "differentiate": [*[_POINTER] * 4, _SIZE, _SIZE, _INT],
    "mix": [*[_POINTER] * 5, _SIZE, _SIZE, _INT],
}


class NativeKernels:
    """Implements `somelab.core.dispatch.kernels.Kernels` on CPU in fp32 and bf16. Uses as many threads as
    torch does."""

    adds_bias = True

    def __init__(self, library: ctypes.CDLL) -> None:
        self._calls = {
            name: {dtype: getattr(library, f"{name}_{text}") for dtype, text in NAMES.items()}
            for name in _ARGUMENTS
        }
        for name, calls in self._calls.items():
            for call in calls.values():
                call.argtypes, call.restype = _ARGUMENTS[name], None

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

    def _call(self, name: str, block_NW: Tensor, *tensors: Tensor | None) -> None:
        """Memory addresses carry no strides or types, so those are checked here: `block_NW` gives rows, width
        and type."""
        assert all(tensor is None or tensor.is_contiguous() for tensor in tensors), name
        rows, width = block_NW.shape
        addresses = (None if tensor is None else tensor.data_ptr() for tensor in tensors)
        self._calls[name][block_NW.dtype](*addresses, rows, width, torch.get_num_threads())
