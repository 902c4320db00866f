"""The compiled RMS norm: calls of norms.cpp with the memory addresses of tensors.

Shape letters: T tokens, D width."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from somelab.native.calls import FLOAT, INT, POINTER, SIZE, addresses, calls_of

_ARGUMENTS = {
    "rms_norm": [*[POINTER] * 4, SIZE, SIZE, FLOAT, INT],
    "rms_norm_back": [*[POINTER] * 6, SIZE, SIZE, INT],
}


class NativeNorms:
    """Implements `somelab.core.dispatch.kernels.NormKernels` on CPU in fp32."""

    def __init__(self, library: ctypes.CDLL) -> None:
        calls = calls_of(library, _ARGUMENTS, (torch.float32,))
        self._forward, self._backward = (calls[name][torch.float32] for name in _ARGUMENTS)

    def forward(self, x_TD: Tensor, gain_D: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
        y_TD, scale_T = torch.empty_like(x_TD), torch.empty(len(x_TD))
        self._forward(*addresses(x_TD, gain_D, y_TD, scale_T), *x_TD.shape, epsilon, torch.get_num_threads())
        return y_TD, scale_T

    def backward(
        self, x_TD: Tensor, gain_D: Tensor, scale_T: Tensor, grad_TD: Tensor
    ) -> tuple[Tensor, Tensor]:
        grad_x_TD, grad_gain_D = torch.empty_like(x_TD), torch.empty_like(gain_D)
        tensors = (x_TD, gain_D, scale_T, grad_TD, grad_x_TD, grad_gain_D)
        self._backward(*addresses(*tensors), *x_TD.shape, torch.get_num_threads())
        return grad_x_TD, grad_gain_D
