"""Keys and values of tokens already read, so that generation computes each token once. A token's slot is its
position, row by row: prompts of different lengths share a batch without padding on the left.

Shape letters: B sequences, H heads, T new tokens, S slots in use, C head width."""

from __future__ import annotations

import torch
from torch import Tensor

SLOTS_PER_BLOCK = 256


class KeyValueCache:
    """One pair of preallocated tensors a layer; they grow by whole blocks if more is read than was
    announced."""

    def __init__(self, num_layers: int, num_rows: int) -> None:
        self.lengths = [0] * num_rows
        """Tokens that each row has read. Slots at and above a row's length hold nothing that is ever attended
        to."""
        self._states: list[tuple[Tensor, Tensor] | None] = [None] * num_layers
        self._announced = 0

    def announce_(self, num_slots: int) -> None:
        """Set the length of the longest row, so that the first write allocates memory for all of it."""
        self._announced = num_slots

    def write_(self, layer: int, keys_BHTC: Tensor, values_BHTC: Tensor) -> tuple[Tensor, Tensor]:
        """Put T new tokens after each row's length; return keys and values of all slots in use, [B, H, S,
        C]."""
        num_new = keys_BHTC.shape[2]
        num_slots = max(self.lengths) + num_new
        keys, values = self._reserve_(layer, num_slots, keys_BHTC)
        if len(set(self.lengths)) == 1:
            start = self.lengths[0]
            keys[:, :, start:num_slots] = keys_BHTC
            values[:, :, start:num_slots] = values_BHTC
        else:
            rows_B = torch.arange(len(self.lengths), device=keys.device)
            slots_BT = torch.tensor(self.lengths, device=keys.device)[:, None] + torch.arange(
                num_new, device=keys.device
            )
            keys[rows_B[:, None], :, slots_BT] = keys_BHTC.transpose(1, 2)
            values[rows_B[:, None], :, slots_BT] = values_BHTC.transpose(1, 2)
        return keys[:, :, :num_slots], values[:, :, :num_slots]

    def advance_(self, num_tokens: int) -> None:
        """Count the new tokens as read, after all layers have written."""
        self.lengths = [length + num_tokens for length in self.lengths]

    def truncate_(self, lengths: list[int]) -> None:
        """Drop everything beyond these lengths (the padding of a batch of prompts)."""
        assert len(lengths) == len(self.lengths)
        assert all(kept <= length for kept, length in zip(lengths, self.lengths))
        self.lengths = list(lengths)

    def _reserve_(self, layer: int, num_slots: int, like_BHTC: Tensor) -> tuple[Tensor, Tensor]:
        """Allocate `num_slots`, in the dtype and on the device of the new keys."""
        held = self._states[layer]
        if held is not None and held[0].shape[2] >= num_slots:
            return held
        rows, heads, _, width = like_BHTC.shape
        capacity = -(-max(num_slots, self._announced) // SLOTS_PER_BLOCK) * SLOTS_PER_BLOCK
        # Zeros, not empty: a masked slot is still multiplied by a weight of 0, and 0 x NaN is NaN.
        grown = (
            like_BHTC.new_zeros(rows, heads, capacity, width),
            like_BHTC.new_zeros(rows, heads, capacity, width),
        )
        if held is not None:
            for new, old in zip(grown, held):
                new[:, :, : old.shape[2]] = old
        self._states[layer] = grown
        return grown
