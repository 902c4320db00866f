"""Positions and attention masks of a forward pass, computed once for all layers. Tokens come plain, as packed
documents, or as the continuation of a cache; each case takes the cheapest exact method.

Shape letters: B sequences, T tokens, S key slots, D model width."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from somelab.config import ModelConfig
from somelab.model.attention import (
    Surroundings,
    additive_mask,
    alibi_bias,
    kernel_for,
    pays_by_document,
    visible_slots,
)
from somelab.model.kv_cache import KeyValueCache
from somelab.model.positions import document_lengths, positions_within, rotation_at, segments_of, sinusoid_at


@dataclass(frozen=True)
class Placement:
    surroundings: Surroundings
    sinusoid_BTD: Tensor | None
    """Added to the embedding, [B or 1, T, D]; None where positions enter elsewhere."""


def place(
    config: ModelConfig,
    tokens_BT: Tensor,
    documents_BT: Tensor | None,
    positions_BT: Tensor | None,
    cache: KeyValueCache | None,
    dtype: torch.dtype,
) -> Placement:
    """Positions count from 0 in each document, or continue from the cache, unless `positions_BT` are given.

    `dtype` is the one that attention computes in."""
    kind = config.part("positions")
    device, num_tokens = tokens_BT.device, tokens_BT.shape[1]
    segments_BT, lengths = _documents(documents_BT)
    indices_BT, num_slots = _slots(num_tokens, cache, device)
    if positions_BT is not None:
        num_positions = int(positions_BT.max()) + 1
        # A bias by distance is the same in every document only if positions are not given.
        lengths = None if kind == "alibi" else lengths
    else:
        positions_BT, num_positions = (
            indices_BT if segments_BT is None else positions_within(segments_BT),
            num_slots,
        )
    rotation = sinusoid_BTD = None
    if kind == "rope":
        rotation = rotation_at(
            positions_BT, num_positions, config.d_model // config.num_heads, config.rope_base
        )
    elif kind == "sinusoidal":
        sinusoid_BTD = sinusoid_at(positions_BT, num_positions, config.d_model)
    mask, is_causal = None, False
    alone_pays = lengths is not None and (
        (kind != "alibi" and kernel_for(device.type, dtype, config.d_model // config.num_heads) is not None)
        or pays_by_document(lengths, len(tokens_BT), num_tokens, config.d_model)
    )
    if lengths is not None and alone_pays:
        mask = _alibi_corner(max(lengths), config, device, dtype) if kind == "alibi" else None
        alone = Surroundings(mask, False, rotation, sees_all=not config.causal, documents=lengths)
        return Placement(alone, sinusoid_BTD)
    if kind == "alibi":
        # A slot of the cache is a position; without one the tokens are their own slots.
        slots_BS = positions_BT if cache is None else torch.arange(num_slots, device=device)[None]
        bias_BHTS = alibi_bias(positions_BT, slots_BS, config.num_heads)
        visible = visible_slots(indices_BT, num_slots, segments_BT, causal=config.causal)
        mask = additive_mask(visible, bias_BHTS, dtype)
    elif segments_BT is not None:
        visible = visible_slots(indices_BT, num_slots, segments_BT, causal=config.causal)
        mask = additive_mask(visible, None, dtype)
    elif num_slots == num_tokens:
        is_causal = config.causal
    elif num_tokens > 1 or len(indices_BT) > 1:
        # One new token per row, all at the same slot, attends to all slots and needs no mask.
        mask = additive_mask(visible_slots(indices_BT, num_slots), None, dtype)
    return Placement(Surroundings(mask, is_causal, rotation, cache), sinusoid_BTD)


def _documents(documents_BT: Tensor | None) -> tuple[Tensor | None, tuple[int, ...] | None]:
    """Segments of packed rows and the lengths of their documents; neither where every row is one document:
    the plain case.

    Lengths only on a CPU: elsewhere this would synchronise. A compiled graph must not depend on them."""
    if documents_BT is None:
        return None, None
    segments_BT = segments_of(documents_BT)
    if segments_BT.device.type != "cpu" or torch.compiler.is_compiling():
        return segments_BT, None
    lengths = document_lengths(segments_BT)
    return (None, None) if len(lengths) == len(segments_BT) else (segments_BT, lengths)


def _alibi_corner(length: int, config: ModelConfig, device: torch.device, dtype: torch.dtype) -> Tensor:
    """[1, H, S, S]: mask and bias of a document that begins at position 0; a shorter one uses its upper left
    corner."""
    positions_1S = torch.arange(length, device=device)[None]
    visible = visible_slots(positions_1S, length, causal=config.causal)
    return additive_mask(visible, alibi_bias(positions_1S, positions_1S, config.num_heads), dtype)


def _slots(num_tokens: int, cache: KeyValueCache | None, device: torch.device) -> tuple[Tensor, int]:
    """Each token's own slot, [B or 1, T] (1 if all rows are equal), and the number of slots in use."""
    lengths = [0] if cache is None else cache.lengths
    if len(set(lengths)) == 1:
        lengths = lengths[:1]
    starts_B = torch.tensor(lengths, device=device)
    return starts_B[:, None] + torch.arange(num_tokens, device=device), max(lengths) + num_tokens
