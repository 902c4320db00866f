"""The compiled frozen experts: calls of experts.cpp with the memory addresses of tensors.

Shape letters: T tokens, D model width, F hidden width, O width of an output, E experts, K experts per token,
P token-expert pairs, R rows of the panels."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from somelab.core.dispatch.frozen_fused import Pairs
from somelab.core.dispatch.weights import ExpertWeights
from somelab.native.calls import INT, POINTER, SIZE, addresses, calls_of

_ARGUMENTS = {
    "experts_sort": [*[POINTER] * 4, SIZE, SIZE],
    "experts_forward": [*[POINTER] * 12, *[SIZE] * 6, INT],
    "experts_backward": [*[POINTER] * 13, *[SIZE] * 6, INT],
}


class NativeExperts:
    """Implements `somelab.core.dispatch.frozen_fused.ExpertKernels` on CPU in fp32."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._calls = calls_of(library, _ARGUMENTS, (torch.float32,))
        library.experts_are_fast.argtypes, library.experts_are_fast.restype = [], INT
        self.is_fast = bool(library.experts_are_fast())

    def sort(self, indices_TK: Tensor, num_experts: int) -> Pairs:
        begin_E1, start_E1 = (torch.empty(num_experts + 1, dtype=torch.int64) for _ in range(2))
        order_P = torch.empty(indices_TK.numel(), dtype=torch.int64)
        self._calls["experts_sort"][torch.float32](
            *addresses(indices_TK, order_P, begin_E1, start_E1), len(order_P), num_experts
        )
        return Pairs(order_P, begin_E1, start_E1)

    def forward(
        self,
        x_TD: Tensor,
        gates_TK: Tensor,
        pairs: Pairs,
        weights: ExpertWeights,
        inputs_RF: Tensor | None,
        outputs_TKO: Tensor,
    ) -> Tensor:
        mixed_TO = x_TD.new_empty(len(x_TD), weights.d_out)
        self._call("experts_forward", x_TD, gates_TK, pairs, weights, inputs_RF, outputs_TKO, mixed_TO)
        return mixed_TO

    def backward(
        self,
        grad_TO: Tensor,
        gates_TK: Tensor,
        pairs: Pairs,
        weights: ExpertWeights,
        inputs_RF: Tensor,
        *,
        of_x: bool,
    ) -> tuple[Tensor | None, Tensor]:
        tokens, d_model = len(grad_TO), weights.down_EFD.shape[2]
        grad_gates_TK = torch.empty_like(gates_TK)
        grad_TKD = grad_TO.new_empty(*gates_TK.shape, d_model) if of_x else None
        grad_x_TD = grad_TO.new_empty(tokens, d_model) if of_x else None
        results = (grad_gates_TK, grad_TKD, grad_x_TD)
        self._call("experts_backward", grad_TO, gates_TK, pairs, weights, inputs_RF, *results)
        return grad_x_TD, grad_gates_TK

    def _call(
        self,
        name: str,
        rows: Tensor,
        gates_TK: Tensor,
        pairs: Pairs,
        weights: ExpertWeights,
        *tensors: Tensor | None,
    ) -> None:
        pool = (weights.down_EFD, weights.down_bias_EF, weights.up_EDF, weights.up_bias_ED)
        assert all(one is None or one.dtype == torch.float32 for one in (rows, gates_TK, *pool, *tensors))
        self._calls[name][torch.float32](
            *addresses(rows, gates_TK, *pool, *pairs, *tensors),
            *(*gates_TK.shape, len(weights.down_EFD)),
            *(*weights.down_EFD.shape[:0:-1], weights.d_out),
            torch.get_num_threads(),
        )
