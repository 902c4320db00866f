"""Randomness that is passed in: every draw is a function of (seed, purpose, layer, step), never of a global
state.

Shape letters: T tokens."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor


def derive(seed: int, purpose: str, layer: int = 0, step: int = 0) -> int:
    """A 63-bit seed for one purpose. Distinct arguments give unrelated streams."""
    text = f"{seed}/{purpose}/{layer}/{step}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


def generator(seed: int, purpose: str, layer: int = 0, step: int = 0) -> torch.Generator:
    """A CPU generator for one purpose. CPU always, so that a pool has the same bits on every device."""
    return torch.Generator().manual_seed(derive(seed, purpose, layer, step))


# Splitmix64, as int64.
_GOLDEN, _MIX_1, _MIX_2 = (-7046029254386353131, -4658895280553007687, -7723592293110705685)


def token_draws(seed: int, purpose: str, layer: int, step: int, token_index_T: Tensor) -> Tensor:
    """One uniform number in [0, 1) per token, a function of the token's place in the global batch.

    Counter-based (splitmix64), so that micro-batches and ranks draw for their tokens exactly what one big
    batch would have drawn for them."""
    return _shift_right(hashed(derive(seed, purpose, layer, step), token_index_T), 11).double() * 2.0**-53


def hashed(key: int, counter: Tensor) -> Tensor:
    """64 random bits for each counter, as int64: splitmix64 from `key`, which `derive` gives. Integers alone,
    so that every device and every version of torch computes the same bits."""
    state = (counter.to(torch.int64) + 1) * _GOLDEN + key
    state = (state ^ _shift_right(state, 30)) * _MIX_1
    state = (state ^ _shift_right(state, 27)) * _MIX_2
    return state ^ _shift_right(state, 31)


def _shift_right(value_T: Tensor, bits: int) -> Tensor:
    """Logical shift: torch's >> on int64 keeps the sign, so the copied sign bits are masked away."""
    return (value_T >> bits) & ((1 << (64 - bits)) - 1)
