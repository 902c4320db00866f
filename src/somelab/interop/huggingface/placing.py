"""Positions and masks as transformers gives them: padding on either side, and a cache that transformers
owns.

Shape letters: B sequences, T new tokens, S slots of the cache and new tokens, H heads, C head width."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from somelab.config import ModelConfig
from somelab.model.attention import Surroundings, additive_mask, alibi_bias
from somelab.model.kv_cache import KeyValueCache
from somelab.model.placing import Placement
from somelab.model.positions import rotation_at, sinusoid_at


class SharedCache:
    """A cache of transformers, written by somelab's attention."""

    def __init__(self, cache: Any) -> None:
        self.cache = cache

    def write_(self, layer: int, keys_BHTC: Tensor, values_BHTC: Tensor) -> tuple[Tensor, Tensor]:
        return self.cache.update(keys_BHTC, values_BHTC, layer)


def place_padded(
    config: ModelConfig,
    tokens_BT: Tensor,
    attended_BS: Tensor | None,
    positions_BT: Tensor | None,
    cache: Any,
    dtype: torch.dtype,
) -> Placement:
    """Where tokens stand and what they see. `attended_BS`: 1 for tokens, 0 for padding, of past and new
    tokens; None: there is no padding. Positions count tokens, not padding, unless `positions_BT` are
    given."""
    device, num_new = tokens_BT.device, tokens_BT.shape[1]
    num_past = 0 if cache is None else int(cache.get_seq_length())
    num_slots = num_past + num_new
    if attended_BS is not None and bool(attended_BS.all()):
        attended_BS = None
    slots_S = torch.arange(num_slots, device=device)
    counted_BS = slots_S[None] if attended_BS is None else (attended_BS.long().cumsum(1) - 1).clamp(min=0)
    if positions_BT is None:
        positions_BT = counted_BS[:, num_past:]
    highest = int(positions_BT.max()) + 1 if positions_BT.numel() else 1
    kind = config.part("positions")
    rotation = sinusoid_BTD = None
    if kind == "rope":
        rotation = rotation_at(positions_BT, highest, config.d_model // config.num_heads, config.rope_base)
    elif kind == "sinusoidal":
        sinusoid_BTD = sinusoid_at(positions_BT, highest, config.d_model)
    bias_BHTS = alibi_bias(positions_BT, counted_BS, config.num_heads) if kind == "alibi" else None
    mask, is_causal = None, False
    if attended_BS is None and bias_BHTS is None and (num_past == 0 or num_new == 1):
        is_causal = num_past == 0  # one new token attends to everything and needs no mask
    else:
        visible_BTS = slots_S <= slots_S[num_past:, None]
        if attended_BS is not None:
            itself_TS = slots_S == slots_S[num_past:, None]
            # Padding attends to itself, since a row without any slot would be NaN.
            visible_BTS = (visible_BTS & attended_BS.bool()[:, None]) | itself_TS
        else:
            visible_BTS = visible_BTS[None]
        mask = additive_mask(visible_BTS.unsqueeze(1), bias_BHTS, dtype)
    shared = None if cache is None else cast(KeyValueCache, SharedCache(cache))
    return Placement(Surroundings(mask, is_causal, rotation, shared), sinusoid_BTD)
