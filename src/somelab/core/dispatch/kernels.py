"""The elementwise steps between the matrix products of frozen experts, as a table. One in torch always
exists; a compiled one, with a single pass per step, can be registered at run time (`somelab.native`).

Shape letters: T tokens, D model width, N rows of one block, F hidden width, V vocabulary, W any width, S
scores of a row, K of them selected, E experts, P parts of a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor

if TYPE_CHECKING:
    from somelab.core.dispatch.frozen_fused import ExpertKernels
    from somelab.core.dispatch.hadamard_fused import HadamardKernels
    from somelab.core.dispatch.int8_rows import Int8Kernels

aten = torch.ops.aten


class Kernels(Protocol):
    """The steps of one block. Buffers are written in place; gates and dots are fp32, and so is what `mix_`
    adds to."""

    adds_bias: bool
    """Whether the steps add biases, given in fp32. Otherwise the products already include them."""

    def supports(self, device_type: str, dtype: torch.dtype) -> bool: ...

    def gather(self, source_TW: Tensor, token_N: Tensor, out_NW: Tensor) -> None:
        """out_n = source[token_n]."""
        ...

    def gather_dot(
        self, source_TW: Tensor, token_N: Tensor, bias_W: Tensor | None, out_NW: Tensor, dot_N: Tensor
    ) -> None:
        """The same, and dot_n = <out_n, bias>; 0 where there is none."""
        ...

    def activate(self, product_NF: Tensor, bias_F: Tensor, out_NF: Tensor) -> None:
        """out = gelu(x), x = product + bias. `out` may be `product`."""
        ...

    def differentiate_(self, grad_NF: Tensor, product_NF: Tensor, bias_F: Tensor, dot_N: Tensor) -> None:
        """From the gradient of gelu(x): dot_n += <grad_n, gelu(x_n)>, and grad *= gelu'(x)."""
        ...

    def mix_(
        self, target_TW: Tensor, token_N: Tensor, product_NW: Tensor, bias_W: Tensor | None, gate_N: Tensor
    ) -> None:
        """target[token_n] += gate_n (product_n + bias). Tokens are in ascending order."""
        ...


class GroupKernels(Protocol):
    """Groups of neurons of a carved feed-forward block (`somelab carve`), for one token."""

    def add_groups_(
        self, y_D: Tensor, x_D: Tensor, used_K: Tensor, gate_up: Tensor, down: Tensor, mean: Tensor
    ) -> None:
        """y += sum over the groups in use of D_e (silu(G_e x) * (U_e x) - mean_e), in fp32."""
        ...


class AttentionKernels(Protocol):
    """Attention within documents whose tokens follow one another: N tokens, G documents, H heads. fp32 on CPU
    only."""

    max_head_width: int

    def rotate(
        self, qkv_N3D: Tensor, cosine_PC: Tensor, sine_PC: Tensor, num_heads: int, *, back: bool
    ) -> Tensor:
        """Queries and keys rotated by rotary angles, or back. Token n has the angles n modulo P."""
        ...

    def forward(
        self, qkv_N3D: Tensor, lengths_G: Tensor, num_heads: int, *, causal: bool
    ) -> tuple[Tensor, Tensor]:
        """softmax(q k / sqrt(C)) v of every document and head, [N, D], and the logarithm of the sum behind
        each softmax, [N, H]."""
        ...

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
        """The gradient of queries, keys and values, [N, 3 D]."""
        ...


class RoutingKernels(Protocol):
    """What a router does with queries and scores, on contiguous tensors in fp32."""

    def scale_rows(
        self, x_TD: Tensor, centre_D: Tensor | None, parts: int, *, rms: bool
    ) -> tuple[Tensor, Tensor]:
        """x - centre with each of the equal parts of a row scaled to rms 1 or length 1, and the factors
        [T, parts]."""
        ...

    def scale_rows_back(self, y_TD: Tensor, scale_TP: Tensor, grad_TD: Tensor, *, rms: bool) -> Tensor:
        """The gradient of x, from the result, the factors, and the gradient of the result."""
        ...

    def best_of_rows(self, scores_TS: Tensor, bias_S: Tensor, top_k: int) -> tuple[Tensor, Tensor]:
        """The largest of scores + bias in each row, in descending order, and their places."""
        ...

    def add_weighted_(
        self, target_ED: Tensor, indices_TK: Tensor, weight_TK: Tensor, rows_TD: Tensor
    ) -> None:
        """target[indices_tk] += weight_tk rows_t."""
        ...


class NormKernels(Protocol):
    """RMS norm with a gain per column, on contiguous tensors in fp32."""

    def forward(self, x_TD: Tensor, gain_D: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
        """gain x scale, and the scale of each row, 1 / sqrt(mean(x^2) + epsilon)."""
        ...

    def backward(
        self, x_TD: Tensor, gain_D: Tensor, scale_T: Tensor, grad_TD: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The gradients of x and of the gain."""
        ...


class CompiledKernels(Kernels, Protocol):
    """What a compiled library has beside them."""

    @property
    def experts(self) -> ExpertKernels: ...
    @property
    def hadamard(self) -> HadamardKernels: ...
    @property
    def groups(self) -> GroupKernels: ...
    @property
    def attention(self) -> AttentionKernels: ...
    @property
    def int8(self) -> Int8Kernels: ...
    @property
    def routing(self) -> RoutingKernels: ...
    @property
    def norms(self) -> NormKernels: ...

    def cross_entropy_(
        self, product_NV: Tensor, bias_V: Tensor | None, targets_N: Tensor, nats_N: Tensor
    ) -> None:
        """nats_n = -log softmax(product_n + bias)[target_n], and the product becomes the gradient of their
        sum: softmax - one_hot(target). fp32 on CPU only."""
        ...


class TorchKernels:
    """The steps by torch's own functions, on any device and in any type."""

    adds_bias = False

    def supports(self, device_type: str, dtype: torch.dtype) -> bool:
        return True

    def gather(self, source_TW: Tensor, token_N: Tensor, out_NW: Tensor) -> None:
        torch.index_select(source_TW, 0, token_N, out=out_NW)

    def gather_dot(
        self, source_TW: Tensor, token_N: Tensor, bias_W: Tensor | None, out_NW: Tensor, dot_N: Tensor
    ) -> None:
        torch.index_select(source_TW, 0, token_N, out=out_NW)
        if bias_W is None:
            dot_N.zero_()
        else:
            # Not `@`: the last bits of a matrix-vector product follow the number of threads.
            torch.sum(out_NW * bias_W, dim=1, dtype=torch.float32, out=dot_N)

    def activate(self, product_NF: Tensor, bias_F: Tensor, out_NF: Tensor) -> None:
        aten.gelu.out(product_NF, out=out_NF)

    def differentiate_(self, grad_NF: Tensor, product_NF: Tensor, bias_F: Tensor, dot_N: Tensor) -> None:
        hidden_NF = aten.gelu(product_NF)
        dot_N += hidden_NF.mul_(grad_NF).sum(dim=1, dtype=torch.float32)
        aten.gelu_backward.grad_input(grad_NF, product_NF, grad_input=grad_NF)

    def mix_(
        self, target_TW: Tensor, token_N: Tensor, product_NW: Tensor, bias_W: Tensor | None, gate_N: Tensor
    ) -> None:
        weighted_NW = (
            product_NW.mul_(gate_N[:, None])
            if product_NW.dtype == gate_N.dtype
            else product_NW * gate_N[:, None]
        )
        target_TW.index_add_(0, token_N, weighted_NW)


TORCH = TorchKernels()
_registered: list[CompiledKernels] = []
_loaders: list[Callable[[], object]] = []


def load_with_(loader: Callable[[], object]) -> None:
    """Load compiled kernels when an engine first needs them; `loader` calls `register_` on success."""
    _loaders[:] = [loader]


def register_(kernels: CompiledKernels | None) -> None:
    """Register a compiled table for the engines `native` and `auto`; None removes it."""
    _registered[:] = [] if kernels is None else [kernels]


def registered() -> CompiledKernels | None:
    """The compiled table, or None."""
    if _loaders and not _registered and not torch.compiler.is_compiling():
        _loaders.pop()()
    return _registered[0] if _registered else None
