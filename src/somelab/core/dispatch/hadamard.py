"""Experts without matrices: what one computes, in plain torch. Signs and a Walsh-Hadamard transform take the
place of the down-projection, signs alone that of the up-projection.

    z_i = H (b_i * q),  unit p of expert i: c_ip gelu(z_ip),  expert i: gamma sqrt(D / F) times their sum by
    output, unit p adds to output p mod D

Modulated experts share their units, c_0p gelu(z_0p), which are those of expert 0. Expert i uses the ones with
c_ip = 1, half of them: unit p of expert i: (1 + c_ip) / sqrt(2) c_0p gelu(z_0p).

Shape letters: T tokens, D model width, N width of a transform (D to the next power of two), B blocks, F = B N
hidden units, E experts, K experts per token, W words of 64 signs."""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from somelab.core.dispatch.weights import compute_dtype
from somelab.core.seeding import hashed

MEAN_SQUARE = 0.42522
"""E[gelu(z)^2] of a standard normal z: gamma = 1 / sqrt(0.42522) gives outputs of rms 1."""
WORD = 64
TOKENS_AT_ONCE = 512
"""Of the torch path: what a block of tokens needs is computed again in backward."""


class HadamardPool(NamedTuple):
    """What determines all experts of a pool. No sign is stored: each is a bit of a hash of the key, the
    expert and its position."""

    key: int
    num_experts: int
    d_model: int
    d_ffn: int
    modulated: bool = False
    """Whether all experts have the units of expert 0, and each uses half of them."""

    @property
    def width(self) -> int:
        """N: a transform takes a power of two."""
        return next_power_of_two(self.d_model)

    @property
    def num_words(self) -> int:
        """W of one sign vector. An expert has two: b, then c."""
        return -(-self.d_ffn // WORD)

    @property
    def scale(self) -> float:
        """Factor on the sum of hidden units: gamma, and the square root of the units per output."""
        return math.sqrt(self.d_model / (self.d_ffn * MEAN_SQUARE))

    def words(self, experts: Tensor) -> Tensor:
        """[..., 2 W] the sign bits of these experts, int64; a set bit is a minus."""
        word_W = torch.arange(2 * self.num_words, device=experts.device)
        return hashed(self.key, experts[..., None] * len(word_W) + word_W)

    def signs(self, experts: Tensor) -> tuple[Tensor, Tensor]:
        """[..., F] b and c of these experts, -1 and 1."""
        device = experts.device
        byte, bit = torch.arange(256, device=device), torch.arange(8, device=device)
        signs_of_byte = 1 - 2 * ((byte[:, None] >> bit) & 1).float()
        bytes_ = self.words(experts).view(torch.uint8).flatten().int()
        shape = (*experts.shape, 2, self.num_words * WORD)
        signs_2F = signs_of_byte.index_select(0, bytes_).view(shape)[..., : self.d_ffn]
        return signs_2F[..., 0, :], signs_2F[..., 1, :]

    def factors(self, experts: Tensor) -> tuple[Tensor, Tensor]:
        """[..., F] the signs before the transforms of these experts, [1, F] where they share them, and the
        factors on their units."""
        in_F, out_F = self.signs(experts)
        if not self.modulated:
            return in_F, out_F
        shared_in_F, shared_out_F = self.signs(torch.zeros(1, dtype=experts.dtype, device=experts.device))
        return shared_in_F, shared_out_F * (1 + out_F) * 0.5**0.5


def next_power_of_two(width: int) -> int:
    return 1 << max(0, width - 1).bit_length()


def walsh_hadamard(x: Tensor) -> Tensor:
    """H x along the last dimension, a power of two, with entries 1 and -1 (not divided by the root of its
    width).

    Fast: H of width a b is the Kronecker product of those of widths a and b, so that a row, seen as a matrix
    of a x b, is multiplied from both sides: n (a + b) products instead of n^2."""
    size = x.shape[-1].bit_length() - 1
    rows, columns = 1 << (size // 2), 1 << (size - size // 2)
    left, right = _matrix(rows, x), _matrix(columns, x)
    return (left @ (x.reshape(*x.shape[:-1], rows, columns) @ right)).reshape(x.shape)


def _matrix(width: int, like: Tensor) -> Tensor:
    matrix = like.new_ones(1, 1)
    while matrix.shape[0] < width:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    return matrix


def outputs_of(x_TD: Tensor, indices_TK: Tensor, pool: HadamardPool) -> Tensor:
    """[T, K, D] every selected expert's output, fp32."""
    (num_tokens, top_k), width = indices_TK.shape, pool.width
    in_TKF, out_TKF = pool.factors(indices_TK)
    x_TN = F.pad(x_TD.float(), (0, width - pool.d_model))
    blocks = (pool.d_ffn // width, width)
    # Divided by the root of D, not N: then the units have the rms of x where zeros fill it up, too.
    z_TKBN = walsh_hadamard(x_TN[:, None, None] * in_TKF.unflatten(-1, blocks)) * pool.d_model**-0.5
    unit_TKN = (F.gelu(z_TKBN) * out_TKF.unflatten(-1, blocks)).sum(dim=2)
    wrapped = F.pad(unit_TKN, (0, 2 * pool.d_model - width)).view(num_tokens, top_k, 2, pool.d_model)
    return wrapped.sum(dim=2) * pool.scale


def hadamard_reference(
    x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, pool: HadamardPool, outputs_TKD: Tensor | None = None
) -> Tensor:
    """sum_k gates_Tk expert[indices_Tk](x_T), [T, D]: the oracle. fp32 inside."""
    dtype = compute_dtype(x_TD)
    with torch.autocast(x_TD.device.type, enabled=False):
        each_TKD = outputs_of(x_TD.to(dtype), indices_TK, pool)
        if outputs_TKD is not None:
            outputs_TKD.copy_(each_TKD.detach())
        return (each_TKD * gates_TK.float()[:, :, None]).sum(dim=1).to(dtype)


def hadamard_in_blocks(
    x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, pool: HadamardPool, outputs_TKD: Tensor | None = None
) -> Tensor:
    """The same for blocks of tokens, each computed again in backward: nothing of size T K F is kept."""
    if outputs_TKD is not None or x_TD.shape[0] <= TOKENS_AT_ONCE:
        return hadamard_reference(x_TD, indices_TK, gates_TK, pool, outputs_TKD)
    parts = zip(*(tensor.split(TOKENS_AT_ONCE) for tensor in (x_TD, indices_TK, gates_TK)), strict=True)
    again = partial(checkpoint, hadamard_reference, use_reentrant=False, preserve_rng_state=False)
    return torch.cat([again(*part, pool) for part in parts])


@torch.no_grad()
def hadamard_alignment(x_TD: Tensor, indices_TK: Tensor, wanted_TD: Tensor, pool: HadamardPool) -> Tensor:
    """[T, K] <expert_k(x), wanted>, block by block."""
    parts = zip(*(tensor.split(TOKENS_AT_ONCE) for tensor in (x_TD, indices_TK, wanted_TD)), strict=True)
    with torch.autocast(x_TD.device.type, enabled=False):
        return torch.cat(
            [(outputs_of(x, indices, pool) * wanted[:, None].float()).sum(2) for x, indices, wanted in parts]
        )
