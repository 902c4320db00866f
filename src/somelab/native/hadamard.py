"""The compiled kernels of experts without matrices: calls of hadamard.cpp and modulated.cpp with the memory
addresses of tensors.

Shape letters: T tokens, D model width, K experts per token."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from somelab.native.calls import INT, NAMES, POINTER, SIZE, WORD, addresses, calls_of

if TYPE_CHECKING:
    from somelab.core.dispatch.hadamard import HadamardPool

_POOL = [WORD, SIZE, SIZE, SIZE, SIZE, SIZE, INT]
_NUM_TENSORS = {"forward": 4, "align": 4, "backward": 6}
_FAMILIES = ("hadamard", "modulated")


class NativeHadamard:
    """Implements `somelab.core.dispatch.hadamard_fused.HadamardKernels` on CPU in fp32 and bf16."""

    def __init__(self, library: ctypes.CDLL, families: Sequence[str] = _FAMILIES) -> None:
        self._calls = calls_of(
            library,
            {
                f"{family}_{name}": [*[POINTER] * number, *_POOL]
                for family in families
                for name, number in _NUM_TENSORS.items()
            },
        )

    def supports(self, device_type: str, dtype: torch.dtype) -> bool:
        return device_type == "cpu" and dtype in NAMES

    def forward(self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, pool: HadamardPool) -> Tensor:
        out_TD = torch.empty_like(x_TD)
        self._call("forward", pool, x_TD, indices_TK, gates_TK, out_TD)
        return out_TD

    def align(self, x_TD: Tensor, indices_TK: Tensor, wanted_TD: Tensor, pool: HadamardPool) -> Tensor:
        alignment_TK = torch.empty(indices_TK.shape)
        self._call("align", pool, x_TD, indices_TK, wanted_TD, alignment_TK)
        return alignment_TK

    def backward(
        self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, grad_TD: Tensor, pool: HadamardPool
    ) -> tuple[Tensor, Tensor]:
        grad_x_TD, grad_gates_TK = torch.empty_like(x_TD), torch.empty_like(gates_TK)
        self._call("backward", pool, x_TD, indices_TK, gates_TK, grad_TD, grad_x_TD, grad_gates_TK)
        return grad_x_TD, grad_gates_TK

    def _call(self, name: str, pool: HadamardPool, x_TD: Tensor, indices_TK: Tensor, *others: Tensor) -> None:
        """`others` are of the type of x, or per token and slot and fp32."""
        assert indices_TK.dtype == torch.int64
        assert all(
            other.dtype == (x_TD.dtype if other.shape == x_TD.shape else torch.float32) for other in others
        )
        sizes = (pool.key, pool.num_experts, pool.d_model, pool.d_ffn, *indices_TK.shape)
        family = "modulated" if pool.modulated else "hadamard"
        call = self._calls[f"{family}_{name}"][x_TD.dtype]
        call(*addresses(x_TD, indices_TK, *others), *sizes, torch.get_num_threads())
