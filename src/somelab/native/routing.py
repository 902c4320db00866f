"""The compiled kernels of a router: calls of routing.cpp with the memory addresses of tensors.

Shape letters: T tokens, D width, E experts, S scores of a row, K of them selected, P parts of a row."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from somelab.native.calls import INT, POINTER, SIZE, addresses, calls_of

_ARGUMENTS = {
    "scale_rows": [*[POINTER] * 4, SIZE, SIZE, SIZE, SIZE, INT],
    "scale_rows_back": [*[POINTER] * 4, SIZE, SIZE, SIZE, SIZE, INT],
    "best_of_rows": [*[POINTER] * 4, SIZE, SIZE, SIZE, INT],
    "add_weighted": [*[POINTER] * 4, SIZE, SIZE, SIZE, INT],
}


class NativeRouting:
    """Implements `somelab.core.dispatch.kernels.RoutingKernels` on CPU in fp32."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._calls = calls_of(library, _ARGUMENTS, (torch.float32,))

    def scale_rows(
        self, x_TD: Tensor, centre_D: Tensor | None, parts: int, *, rms: bool
    ) -> tuple[Tensor, Tensor]:
        y_TD, scale_TP = torch.empty_like(x_TD), torch.empty(len(x_TD), parts)
        self._call("scale_rows", x_TD, centre_D, y_TD, scale_TP, sizes=(*x_TD.shape, parts, int(rms)))
        return y_TD, scale_TP

    def scale_rows_back(self, y_TD: Tensor, scale_TP: Tensor, grad_TD: Tensor, *, rms: bool) -> Tensor:
        grad_x_TD, parts = torch.empty_like(y_TD), scale_TP.shape[1]
        self._call(
            "scale_rows_back", y_TD, scale_TP, grad_TD, grad_x_TD, sizes=(*y_TD.shape, parts, int(rms))
        )
        return grad_x_TD

    def best_of_rows(self, scores_TS: Tensor, bias_S: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
        values_TK = torch.empty(len(scores_TS), top_k)
        places_TK = torch.empty(values_TK.shape, dtype=torch.int64)
        self._call("best_of_rows", scores_TS, bias_S, values_TK, places_TK, sizes=(*scores_TS.shape, top_k))
        return values_TK, places_TK

    def add_weighted_(
        self, target_ED: Tensor, indices_TK: Tensor, weight_TK: Tensor, rows_TD: Tensor
    ) -> None:
        sizes = (*rows_TD.shape, indices_TK.shape[1])
        self._call("add_weighted", target_ED, indices_TK, weight_TK, rows_TD, sizes=sizes)

    def _call(self, name: str, *tensors: Tensor | None, sizes: tuple[int, ...]) -> None:
        call = self._calls[name][torch.float32]
        call(*addresses(*tensors), *sizes, torch.get_num_threads())
