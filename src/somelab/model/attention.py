"""Causal self-attention, with a compiled kernel of ours or with torch's fused one. Packed documents are
attended to one by one, or separated by a mask that is computed once per forward pass and shared by all
layers.

Shape letters: B sequences, T tokens, N = B*T tokens or those of one document, G documents, S key slots, D
model width, H heads, C head width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from somelab.core.dispatch.kernels import AttentionKernels, registered
from somelab.core.seeded import seeded_linear, start_xavier_, zero_bias_
from somelab.core.seeding import generator
from somelab.model.kv_cache import KeyValueCache
from somelab.model.positions import Rotation, alibi_slopes, rotate

# The overhead of a kernel call, forward and backward, as forward FLOPs at the kernel's own speed.
FLOPS_PER_CALL = 8_000_000


@dataclass(frozen=True)
class Surroundings:
    """What attention needs beside the hidden states; the same for every layer of a pass."""

    mask: Tensor | None = None
    """Added to the scores, [B or 1, H or 1, T, S]: 0 or a bias where a token may attend, -inf where not. With
    `documents`: [1, H, S, S] for the longest of them; shorter ones use its upper left corner."""
    is_causal: bool = True
    """The kernel's own causal mask, which skips half of the work. Never together with `mask`."""
    rotation: Rotation | None = None
    cache: KeyValueCache | None = None
    sees_all: bool = False
    """Without a causal mask (`model.causal` = false): tokens attend to later ones, too."""
    documents: tuple[int, ...] | None = None
    """Lengths of the documents in all rows, row by row: each is attended to alone, and nothing is computed
    between two of them."""


class Attention(nn.Module):
    """Multi-head attention with 4 (D*D + D) parameters when biased: q, k, v in one projection, and the
    output's."""

    def __init__(
        self, d_model: int, num_heads: int, *, bias: bool, layer: int, seed: int, init: str = "linear"
    ) -> None:
        super().__init__()
        self.num_heads, self.layer = num_heads, layer
        rng = generator(seed, "attention", layer)
        self.qkv = seeded_linear(d_model, 3 * d_model, bias=bias, rng=rng)
        self.out = seeded_linear(d_model, d_model, bias=bias, rng=rng)
        if init == "xavier":
            start_xavier_(self.qkv, rng)
            zero_bias_(self.out)

    def forward(self, x_BTD: Tensor, surroundings: Surroundings) -> Tensor:
        qkv = self.qkv(x_BTD)
        kernel = self._kernel(qkv, surroundings)
        if kernel is not None:
            return self.out(self._by_kernel(kernel, qkv, surroundings))
        queries, keys, values = self._heads(qkv)
        if surroundings.rotation is not None:
            queries, keys = rotate(queries, surroundings.rotation), rotate(keys, surroundings.rotation)
        if surroundings.cache is not None:
            keys, values = surroundings.cache.write_(self.layer, keys, values)
        if surroundings.documents is not None:
            mixed_BTD = _document_by_document(queries, keys, values, surroundings)
        else:
            mixed_BHTC = F.scaled_dot_product_attention(
                queries, keys, values, attn_mask=surroundings.mask, is_causal=surroundings.is_causal
            )
            mixed_BTD = mixed_BHTC.transpose(1, 2).flatten(2)
        return self.out(mixed_BTD)

    def _heads(self, qkv_BT3D: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values, [B, H, T, C] each."""
        parts = qkv_BT3D.chunk(3, dim=-1)
        return tuple(part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in parts)

    def _kernel(self, qkv_BT3D: Tensor, surroundings: Surroundings) -> AttentionKernels | None:
        """The compiled kernel where it can do this pass: no cache, and no mask but that of documents and
        causality."""
        if surroundings.mask is not None or surroundings.cache is not None:
            return None
        head_width = qkv_BT3D.shape[-1] // (3 * self.num_heads)
        return kernel_for(qkv_BT3D.device.type, qkv_BT3D.dtype, head_width)

    def _by_kernel(self, kernel: AttentionKernels, qkv_BT3D: Tensor, surroundings: Surroundings) -> Tensor:
        num_rows, num_tokens, _ = qkv_BT3D.shape
        documents = surroundings.documents
        causal = surroundings.is_causal if documents is None else not surroundings.sees_all
        qkv_N3D = qkv_BT3D.flatten(0, 1)
        if surroundings.rotation is not None:
            angles = (part.flatten(0, 2).contiguous() for part in surroundings.rotation)
            qkv_N3D = _Rotated.apply(qkv_N3D, *angles, self.num_heads, kernel)
        lengths_G = torch.tensor([num_tokens] * num_rows if documents is None else documents)
        mixed_ND = _Attention.apply(qkv_N3D, lengths_G, self.num_heads, causal, kernel)
        return mixed_ND.view(num_rows, num_tokens, -1)


def kernel_for(device_type: str, dtype: torch.dtype, head_width: int) -> AttentionKernels | None:
    """The compiled kernel in fp32 on a CPU, where heads are narrow: about half of torch's time there, since
    documents are short. None in a compiled graph, which cannot call it."""
    if device_type != "cpu" or dtype != torch.float32 or torch.compiler.is_compiling():
        return None
    compiled = registered()
    if compiled is None or head_width > compiled.attention.max_head_width:
        return None
    return compiled.attention


class _Rotated(torch.autograd.Function):
    """Queries and keys of all heads rotated by the compiled kernel. The gradient is rotated back."""

    @staticmethod
    def forward(
        ctx: Any,
        qkv_N3D: Tensor,
        cosine_PC: Tensor,
        sine_PC: Tensor,
        num_heads: int,
        kernel: AttentionKernels,
    ) -> Tensor:
        ctx.save_for_backward(cosine_PC, sine_PC)
        ctx.num_heads, ctx.kernel = num_heads, kernel
        return kernel.rotate(qkv_N3D.contiguous(), cosine_PC, sine_PC, num_heads, back=False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        grad_N3D = ctx.kernel.rotate(grads[0].contiguous(), *ctx.saved_tensors, ctx.num_heads, back=True)
        return grad_N3D, None, None, None, None


class _Attention(torch.autograd.Function):
    """Attention within documents by the compiled kernel. Keeps its output and one number per token and head;
    backward computes the probabilities again."""

    @staticmethod
    def forward(
        ctx: Any, qkv_N3D: Tensor, lengths_G: Tensor, num_heads: int, causal: bool, kernel: AttentionKernels
    ) -> Tensor:
        qkv_N3D = qkv_N3D.contiguous()
        out_ND, log_sums_NH = kernel.forward(qkv_N3D, lengths_G, num_heads, causal=causal)
        ctx.save_for_backward(qkv_N3D, lengths_G, out_ND, log_sums_NH)
        ctx.causal, ctx.kernel = causal, kernel
        return out_ND

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        grad_ND = grad_outputs[0].contiguous()
        grad_N3D = ctx.kernel.backward(*ctx.saved_tensors, grad_ND, causal=ctx.causal)
        return grad_N3D, None, None, None, None


def _document_by_document(
    queries_BHTC: Tensor, keys_BHTC: Tensor, values_BHTC: Tensor, surroundings: Surroundings
) -> Tensor:
    """[B, T, D]: each document attends to itself alone. For documents of one token the output is their value,
    at no cost."""
    assert surroundings.documents is not None
    runs = _runs(surroundings.documents)
    # Split, not slice: the gradient of each slice would be a tensor of the whole size.
    queries, keys, values = (
        states.transpose(1, 2).flatten(0, 1).split([length for length, _ in runs])
        for states in (queries_BHTC, keys_BHTC, values_BHTC)
    )
    mixed: list[Tensor] = []
    for (length, is_document), *states_NHC in zip(runs, queries, keys, values):
        if is_document:
            mask = None if surroundings.mask is None else surroundings.mask[..., :length, :length]
            states_1HNC = (states.transpose(0, 1)[None] for states in states_NHC)
            is_causal = mask is None and not surroundings.sees_all
            output_1HNC = F.scaled_dot_product_attention(*states_1HNC, attn_mask=mask, is_causal=is_causal)
            mixed.append(output_1HNC[0].transpose(0, 1).flatten(1))
        else:
            mixed.append(states_NHC[2].flatten(1))
    return torch.cat(mixed).view(queries_BHTC.shape[0], queries_BHTC.shape[2], -1)


def _runs(documents: tuple[int, ...]) -> list[tuple[int, bool]]:
    """Documents as (length, True), and each run of documents of one token as (their number, False)."""
    runs: list[tuple[int, bool]] = []
    for length in documents:
        if length == 1 and runs and not runs[-1][1]:
            runs[-1] = (runs[-1][0] + 1, False)
        else:
            runs.append((length, length > 1))
    return runs


def pays_by_document(documents: tuple[int, ...], num_rows: int, num_tokens: int, d_model: int) -> bool:
    """Whether one of torch's calls for each document is cheaper than one over whole rows with a mask, by
    forward FLOPs.

    Causality is not counted as a saving: at these lengths the kernel gains almost nothing from it."""
    flops_per_pair = 4 * d_model
    alone = sum(flops_per_pair * length**2 + FLOPS_PER_CALL for length in documents if length > 1)
    return alone < flops_per_pair * num_rows * num_tokens**2 + FLOPS_PER_CALL


def visible_slots(
    indices_BT: Tensor, num_slots: int, segments_BT: Tensor | None = None, *, causal: bool = True
) -> Tensor:
    """bool [B or 1, 1, T, S]: which slots each token may attend to. `indices_BT` are the tokens' own slots.

    With segments, which need one slot per token, only those of the same document. Not causal: later ones,
    too."""
    last_BT = indices_BT if causal else torch.full_like(indices_BT, num_slots)
    visible_BTS = torch.arange(num_slots, device=indices_BT.device) <= last_BT.unsqueeze(-1)
    if segments_BT is not None:
        visible_BTS = visible_BTS & (segments_BT.unsqueeze(-1) == segments_BT.unsqueeze(-2))
    return visible_BTS.unsqueeze(1)


def alibi_bias(positions_BT: Tensor, positions_BS: Tensor, num_heads: int) -> Tensor:
    """[B or 1, H, T, S]: -slope x distance between each token and each slot."""
    distances_BTS = (positions_BT.unsqueeze(-1) - positions_BS.unsqueeze(-2)).abs().to(torch.float32)
    slopes_H = torch.tensor(alibi_slopes(num_heads), device=positions_BT.device)
    return -slopes_H[:, None, None] * distances_BTS.unsqueeze(1)


def additive_mask(visible_B1TS: Tensor, bias_BHTS: Tensor | None, dtype: torch.dtype) -> Tensor:
    """One tensor for the kernel, in the dtype it computes in: a bool mask would be converted in every
    layer."""
    bias = torch.zeros((), device=visible_B1TS.device) if bias_BHTS is None else bias_BHTS
    return torch.where(visible_B1TS, bias.to(dtype), float("-inf"))
