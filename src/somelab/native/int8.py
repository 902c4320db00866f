"""The compiled products of int8: calls of int8.cpp with the memory addresses of tensors.

Shape letters: T tokens, N rows of one block, V and W any width."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from somelab.native.calls import INT, POINTER, SIZE, addresses, calls_of

_ARGUMENTS = {
    "int8_quantise": [*[POINTER] * 3, SIZE, SIZE, INT],
    "int8_activate": [*[POINTER] * 3, SIZE, SIZE, INT],
    "int8_product": [*[POINTER] * 5, SIZE, SIZE, SIZE, SIZE, ctypes.c_float, INT],
}


class NativeInt8:
    """Implements `somelab.core.dispatch.int8_rows.Int8Kernels` on CPU in fp32."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._calls = calls_of(library, _ARGUMENTS, (torch.float32,))
        library.int8_is_fast.argtypes, library.int8_is_fast.restype = [], INT
        self.is_fast = bool(library.int8_is_fast())

    def quantise(self, x_NW: Tensor) -> tuple[Tensor, Tensor]:
        return self._rows("int8_quantise", x_NW)

    def activate(self, x_NW: Tensor) -> tuple[Tensor, Tensor]:
        return self._rows("int8_activate", x_NW)

    def product(
        self,
        rows: tuple[Tensor, Tensor],
        place_N: Tensor | None,
        matrix: Tensor,
        scale: float,
        out_NV: Tensor,
        *,
        transposed: bool,
    ) -> None:
        integers, scales = rows
        outputs, inputs = matrix.shape[::-1] if transposed else matrix.shape
        assert (integers.dtype, matrix.dtype) == (torch.uint8, torch.int8)
        assert (integers.shape[1], out_NV.shape[1]) == (inputs, outputs)
        self._calls["int8_product"][torch.float32](
            *addresses(integers, scales, place_N, matrix, out_NV),
            *(len(out_NV), inputs, outputs, int(transposed)),
            scale,
            torch.get_num_threads(),
        )

    def _rows(self, name: str, x_NW: Tensor) -> tuple[Tensor, Tensor]:
        integers_NW, scale_N = torch.empty_like(x_NW, dtype=torch.uint8), torch.empty(len(x_NW))
        self._calls[name][torch.float32](
            *addresses(x_NW, integers_NW, scale_N), *x_NW.shape, torch.get_num_threads()
        )
        return integers_NW, scale_N
