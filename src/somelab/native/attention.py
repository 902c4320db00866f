"""The compiled kernel of attention within documents: calls of attention.cpp with memory addresses of tensors.

Shape letters: N tokens of all documents, G documents, H heads, D model width, C pairs of a head, P positions
of a table."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from somelab.native.calls import INT, POINTER, SIZE, addresses, calls_of

_SIZES = [SIZE, SIZE, SIZE, INT, INT]
_ARGUMENTS = {
    "attention_forward": [*[POINTER] * 4, *_SIZES],
    "attention_backward": [*[POINTER] * 6, *_SIZES],
    "attention_rotate": [*[POINTER] * 4, SIZE, *_SIZES],
}


class NativeAttention:
    """Implements `somelab.core.dispatch.kernels.AttentionKernels` on CPU in fp32. Uses as many threads as
    torch does."""

    max_head_width = 64
    """Eight vectors of eight floats, which every processor has registers for."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._calls = calls_of(library, _ARGUMENTS, (torch.float32,))

    def forward(
        self, qkv_N3D: Tensor, lengths_G: Tensor, num_heads: int, *, causal: bool
    ) -> tuple[Tensor, Tensor]:
        num_tokens, width = qkv_N3D.shape[0], qkv_N3D.shape[1] // 3
        out_ND, log_sums_NH = qkv_N3D.new_empty(num_tokens, width), qkv_N3D.new_empty(num_tokens, num_heads)
        self._call("forward", num_heads, causal, qkv_N3D, lengths_G, out_ND, log_sums_NH)
        return out_ND, log_sums_NH

    def backward(
        self,
        qkv_N3D: Tensor,
        lengths_G: Tensor,
        out_ND: Tensor,
        log_sums_NH: Tensor,
        grad_ND: Tensor,
        *,
        causal: bool,
    ) -> Tensor:
        grad_N3D, num_heads = torch.empty_like(qkv_N3D), log_sums_NH.shape[1]
        self._call("backward", num_heads, causal, qkv_N3D, lengths_G, out_ND, log_sums_NH, grad_ND, grad_N3D)
        return grad_N3D

    def rotate(
        self, qkv_N3D: Tensor, cosine_PC: Tensor, sine_PC: Tensor, num_heads: int, *, back: bool
    ) -> Tensor:
        out_N3D, num_tokens = torch.empty_like(qkv_N3D), len(qkv_N3D)
        width = qkv_N3D.shape[1] // (3 * num_heads)
        tensors = (qkv_N3D, cosine_PC, sine_PC, out_N3D)
        assert cosine_PC.shape == sine_PC.shape == (len(cosine_PC), width // 2)
        assert num_tokens % len(cosine_PC) == 0
        assert all(tensor.dtype == torch.float32 for tensor in tensors)
        sizes = (num_tokens, len(cosine_PC), num_heads, width, int(back), torch.get_num_threads())
        self._calls["attention_rotate"][torch.float32](*addresses(*tensors), *sizes)
        return out_N3D

    def _call(
        self, name: str, num_heads: int, causal: bool, qkv_N3D: Tensor, lengths_G: Tensor, *others: Tensor
    ) -> None:
        head_width = qkv_N3D.shape[1] // (3 * num_heads)
        assert head_width <= self.max_head_width
        assert lengths_G.dtype == torch.int64
        assert all(tensor.dtype == torch.float32 for tensor in (qkv_N3D, *others))
        call = self._calls[f"attention_{name}"][torch.float32]
        sizes = (lengths_G.numel(), num_heads, head_width, int(causal), torch.get_num_threads())
        call(*addresses(qkv_N3D, lengths_G, *others), *sizes)
