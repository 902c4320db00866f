"""The parts of a grown expert: what it adds to the output of one module. Every part adds exactly nothing when
it is new, and all but the zero factor is drawn from a seed.

Shape letters: D input width, O output width, F hidden width, R rank, V vocabulary."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def _orthogonal(num_rows: int, width: int, rng: torch.Generator) -> Tensor:
    """[rows, width] with orthogonal rows of norm sqrt(width / rows): the product with it keeps the size of a
    step that AdamW takes in the other factor the same for every rank."""
    drawn = torch.randn(width, num_rows, generator=rng)
    return torch.linalg.qr(drawn).Q.T.contiguous() * math.sqrt(width / num_rows)


class FeedForwardPart(nn.Module):
    """W_up gelu(W_down x + b), W_up zero at the start."""

    def __init__(self, d_in: int, d_out: int, width: int, rng: torch.Generator) -> None:
        super().__init__()
        self.down_FD = nn.Parameter(torch.randn(width, d_in, generator=rng) / math.sqrt(d_in))
        self.bias_F = nn.Parameter(torch.zeros(width))
        self.up_OF = nn.Parameter(torch.zeros(d_out, width))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(F.gelu(F.linear(x, self.down_FD, self.bias_F)), self.up_OF)


class LinearPart(nn.Module):
    """W x + b with W = U A of rank R, U zero at the start; W itself where R is the smaller side or more."""

    def __init__(self, d_in: int, d_out: int, rank: int, rng: torch.Generator) -> None:
        super().__init__()
        rank = min(rank, d_in, d_out)
        whole = rank == min(d_in, d_out)
        self.factor_RD = None if whole else nn.Parameter(_orthogonal(rank, d_in, rng))
        self.weight_OR = nn.Parameter(torch.zeros(d_out, d_in if whole else rank))
        self.bias_O = nn.Parameter(torch.zeros(d_out))

    def features(self, x: Tensor) -> Tensor:
        """[..., R or D]: the input of the weight."""
        return x if self.factor_RD is None else F.linear(x, self.factor_RD)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(self.features(x), self.weight_OR, self.bias_O)


class EmbeddingPart(nn.Module):
    """A row of R numbers per token of the vocabulary, zero at the start, times a matrix [R, D]."""

    def __init__(self, num_tokens: int, d_out: int, rank: int, rng: torch.Generator) -> None:
        super().__init__()
        whole = rank >= min(d_out, num_tokens)
        self.rows_VR = nn.Parameter(torch.zeros(num_tokens, d_out if whole else rank))
        self.factor_RD = None if whole else nn.Parameter(_orthogonal(rank, d_out, rng))

    def forward(self, tokens: Tensor) -> Tensor:
        rows = F.embedding(tokens, self.rows_VR)
        return rows if self.factor_RD is None else rows @ self.factor_RD


class NormPart(nn.Module):
    """gain * y + offset of a norm's output y, both zero at the start."""

    def __init__(self, d_out: int) -> None:
        super().__init__()
        self.gain_O = nn.Parameter(torch.zeros(d_out))
        self.offset_O = nn.Parameter(torch.zeros(d_out))

    def forward(self, y: Tensor) -> Tensor:
        return y * self.gain_O + self.offset_O
