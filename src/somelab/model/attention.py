"""Causal self-attention over torch's fused kernel, and the mask that keeps packed documents apart.
The mask is built once per forward pass and shared by all layers; without documents or biases there is none.

Shape letters: B sequences, T tokens, S key slots, D model width, H heads, C head width."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from somelab.core.seeded import seeded_linear
from somelab.core.seeding import generator
from somelab.model.cache import KeyValueCache
from somelab.model.positions import Rotation, alibi_slopes, rotate


@dataclass(frozen=True)
class Surroundings:
    """What attention must know of the tokens beside their states; the same for every layer of a pass."""

    mask: Tensor | None = None
    """Added to the scores, [B or 1, H or 1, T, S]: 0 or a bias where a token may look, -inf where not."""
    is_causal: bool = True
    """The kernel's own causal mask, which skips half of the work. Never together with `mask`."""
    rotation: Rotation | None = None
    cache: KeyValueCache | None = None


class Attention(nn.Module):
    """Multi-head attention with 4 (D*D + D) parameters when biased: q, k, v in one projection, and the output's."""

    def __init__(self, d_model: int, num_heads: int, *, bias: bool, layer: int, seed: int) -> None:
        super().__init__()
        self.num_heads, self.layer = num_heads, layer
        rng = generator(seed, "attention", layer)
        self.qkv = seeded_linear(d_model, 3 * d_model, bias=bias, rng=rng)
        self.out = seeded_linear(d_model, d_model, bias=bias, rng=rng)

    def forward(self, x_BTD: Tensor, surroundings: Surroundings) -> Tensor:
        queries, keys, values = (
            part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in self.qkv(x_BTD).chunk(3, dim=-1)
        )
        if surroundings.rotation is not None:
            queries, keys = rotate(queries, surroundings.rotation), rotate(keys, surroundings.rotation)
        if surroundings.cache is not None:
            keys, values = surroundings.cache.write_(self.layer, keys, values)
        mixed_BHTC = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=surroundings.mask, is_causal=surroundings.is_causal
        )
        return self.out(mixed_BHTC.transpose(1, 2).flatten(2))


def visible_slots(indices_BT: Tensor, num_slots: int, segments_BT: Tensor | None = None) -> Tensor:
    """bool [B or 1, 1, T, S]: which slots each token may look at. `indices_BT` are the tokens' own slots.

    With segments, which need one slot per token, only those of the same document."""
    slots_S = torch.arange(num_slots, device=indices_BT.device)
    visible_BTS = slots_S <= indices_BT.unsqueeze(-1)
    if segments_BT is not None:
        visible_BTS = visible_BTS & (segments_BT.unsqueeze(-1) == segments_BT.unsqueeze(-2))
    return visible_BTS.unsqueeze(1)


def alibi_bias(positions_BT: Tensor, positions_BS: Tensor, num_heads: int) -> Tensor:
    """[B or 1, H, T, S]: -slope x distance between each token and each slot."""
    distances_BTS = (positions_BT.unsqueeze(-1) - positions_BS.unsqueeze(-2)).to(torch.float32)
    slopes_H = torch.tensor(alibi_slopes(num_heads), device=positions_BT.device)
    return -slopes_H[:, None, None] * distances_BTS.unsqueeze(1)


def additive_mask(visible_B1TS: Tensor, bias_BHTS: Tensor | None, dtype: torch.dtype) -> Tensor:
    """One tensor for the kernel, in the dtype it computes in: a mask of bools would be converted in every layer."""
    bias = torch.zeros((), device=visible_B1TS.device) if bias_BHTS is None else bias_BHTS
    return torch.where(visible_B1TS, bias.to(dtype), float("-inf"))
