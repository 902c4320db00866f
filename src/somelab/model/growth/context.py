"""What a forward pass has read: its tokens and documents, with those that a key-value cache holds already, so
that gates are the same with and without a cache.

Shape letters: B sequences, T new tokens, S all tokens of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from somelab.errors import ConfigError
from somelab.model.positions import segments_of


@dataclass
class History:
    """The tokens that stand in the slots of a cache."""

    tokens_BS: Tensor


@dataclass(frozen=True)
class Context:
    """All tokens that a pass may look at, and where its own are."""

    tokens_BS: Tensor
    segments_BS: Tensor | None
    starts_B: Tensor | None
    """Slot of each row's first new token; None: all tokens are new."""
    num_new: int

    def newest(self, values_BSE: Tensor) -> Tensor:
        """[B, T, E]: the values of the new tokens."""
        if self.starts_B is None:
            return values_BSE
        slots_BT = self.starts_B[:, None] + torch.arange(self.num_new, device=values_BSE.device)
        return values_BSE.gather(1, slots_BT.unsqueeze(-1).expand(-1, -1, values_BSE.shape[-1]))


def context_of(tokens_BT: Tensor, documents_BT: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Tokens and the segments of their documents."""
    return tokens_BT, None if documents_BT is None else segments_of(documents_BT)


def context_of_call(
    histories: WeakKeyDictionary[Any, History], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Context:
    """From the arguments of a decoder's or a Hugging Face model's forward pass. With a cache, the tokens of
    earlier passes are kept beside it."""
    tokens_BT = args[0] if args else kwargs.get("tokens_BT", kwargs.get("input_ids"))
    if not isinstance(tokens_BT, Tensor):
        remedy = "pass tokens, not embeddings: keys are compared with tokens"
        raise ConfigError("input_ids", None, "a grown pool has nothing to select by", remedy)
    cache = kwargs.get("cache", kwargs.get("past_key_values"))
    if cache is None:
        documents_BT = kwargs.get("documents_BT")
        if documents_BT is None:
            documents_BT = _padding(kwargs, tokens_BT.shape[1])
        return Context(*context_of(tokens_BT, documents_BT), None, tokens_BT.shape[1])
    lengths = _lengths(cache, len(tokens_BT))
    num_new = tokens_BT.shape[1]
    starts_B = torch.tensor(lengths, device=tokens_BT.device)
    width = max(lengths) + num_new
    held_BS = tokens_BT.new_zeros(len(tokens_BT), width)
    if cache in histories and max(lengths):
        before_BS = histories[cache].tokens_BS[:, :width]
        held_BS[:, : before_BS.shape[1]] = before_BS
    held_BS.scatter_(1, starts_B[:, None] + torch.arange(num_new, device=tokens_BT.device), tokens_BT)
    histories[cache] = History(held_BS)
    return Context(*context_of(held_BS, _padding(kwargs, width)), starts_B, num_new)


def _padding(kwargs: dict[str, Any], num_tokens: int) -> Tensor | None:
    """Padding as a document of its own, by the attention mask [B, S] of Hugging Face; None: there is none."""
    mask = kwargs.get("attention_mask")
    if not isinstance(mask, Tensor) or mask.ndim != 2 or mask.shape[1] != num_tokens:
        return None
    return None if bool(mask.all()) else mask.long()


def _lengths(cache: Any, num_rows: int) -> list[int]:
    """Tokens that each row of a cache has read."""
    lengths = getattr(cache, "lengths", None)
    return list(lengths) if lengths is not None else [int(cache.get_seq_length())] * num_rows
