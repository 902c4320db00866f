"""Position encodings: sinusoid, rotary angles, linear biases, and positions that restart with each document.
All are computed from the positions, so none is stored or limited to the trained length.

Shape letters: B sequences, T tokens, N positions, D model width, H heads, C head width, S key slots."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

SINUSOID_BASE = 10000.0


def sinusoid_table(num_positions: int, d_model: int, device: torch.device) -> Tensor:
    """[N, D]: sin on even and cos on odd columns, angle = position / 10000^(2i/D)."""
    return _sinusoid(torch.arange(num_positions, device=device), d_model)


def sinusoid_at(positions_BT: Tensor, num_positions: int, d_model: int) -> Tensor:
    """[B, T, D]: rows of the table for given positions, all below `num_positions`; one new token needs no
    table."""
    if positions_BT.numel() < num_positions:
        return _sinusoid(positions_BT, d_model)
    return sinusoid_table(num_positions, d_model, positions_BT.device)[positions_BT]


class Rotation(NamedTuple):
    """Cosines and sines of the rotary angles of each token, [B or 1, 1, T, C/2], fp32."""

    cosine: Tensor
    sine: Tensor


def rotation_at(positions_BT: Tensor, num_positions: int, head_width: int, base: float) -> Rotation:
    """The angles position / base^(2i/C) for given positions, all below `num_positions`."""
    if positions_BT.numel() < num_positions:
        angles_BTC = _angles(positions_BT, head_width, base)
        return Rotation(angles_BTC.cos().unsqueeze(1), angles_BTC.sin().unsqueeze(1))
    angles_NC = _angles(torch.arange(num_positions, device=positions_BT.device), head_width, base)
    return Rotation(angles_NC.cos()[positions_BT].unsqueeze(1), angles_NC.sin()[positions_BT].unsqueeze(1))


def rotate(states_BHTC: Tensor, rotation: Rotation) -> Tensor:
    """Rotate each pair (i, i + C/2) by its angle, so that a dot product depends only on the distance of two
    tokens.

    In fp32 and back: an angle rounded to bf16 would move a token by whole positions at long distance."""
    first, second = states_BHTC.float().chunk(2, dim=-1)
    cosine, sine = rotation
    turned = torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
    return turned.to(states_BHTC.dtype)


def alibi_slopes(num_heads: int) -> list[float]:
    """Slope of each head's distance penalty: 2^(-8h/H) for h = 1..H when H is a power of two.

    Otherwise the slopes of the power of two below H, then every second slope of the one above (the published
    rule)."""
    lower = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * (head + 1) / lower) for head in range(lower)]
    between = [2 ** (-8 * (head + 1) / (2 * lower)) for head in range(0, 2 * lower, 2)]
    return slopes + between[: num_heads - lower]


def segments_of(documents_BT: Tensor) -> Tensor:
    """Number the runs of equal ids in each sequence 0, 1, 2, ...: an id that comes back later is a new
    document."""
    begins_BT = torch.zeros_like(documents_BT, dtype=torch.int64)
    begins_BT[:, 1:] = documents_BT[:, 1:] != documents_BT[:, :-1]
    return begins_BT.cumsum(dim=1)


def positions_within(segments_BT: Tensor) -> Tensor:
    """Positions that start from 0 at each change of segment."""
    index_T = torch.arange(segments_BT.shape[1], device=segments_BT.device)
    begins_BT = torch.ones_like(segments_BT, dtype=torch.bool)
    begins_BT[:, 1:] = segments_BT[:, 1:] != segments_BT[:, :-1]
    starts_BT = torch.where(begins_BT, index_T, 0).cummax(dim=1).values
    return index_T - starts_BT


def document_lengths(segments_BT: Tensor) -> tuple[int, ...]:
    """Lengths of the segments of all rows, row by row; they add up to B*T. Synchronises with the device."""
    begins_BT = torch.ones_like(segments_BT, dtype=torch.bool)
    begins_BT[:, 1:] = segments_BT[:, 1:] != segments_BT[:, :-1]
    starts = [*begins_BT.flatten().nonzero()[:, 0].tolist(), segments_BT.numel()]
    return tuple(end - start for start, end in pairwise(starts))


def _sinusoid(positions: Tensor, d_model: int) -> Tensor:
    """[..., D] for positions of any shape."""
    angles = _angles(positions, d_model, SINUSOID_BASE)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)[..., :d_model]


def _angles(positions: Tensor, width: int, base: float) -> Tensor:
    """[..., ceil(width/2)] in fp32 for positions of any shape."""
    exponents_C = torch.arange(0, width, 2, device=positions.device, dtype=torch.float32) / width
    return positions.to(torch.float32)[..., None] * base**-exponents_C
