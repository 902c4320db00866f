"""C: how many tokens selected both i and j. An E x E table for small pools, a list of the pairs that occurred
for large ones.

Both forms hold each unordered pair in both directions, never the diagonal, and add up. Shape letters: T
tokens, E experts, K experts per token, P pairs that occurred."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

DENSE_UP_TO = 2048  # 16 MB a layer; above that a list is smaller, since a step has at most T*K*(K-1) pairs


class PairList(NamedTuple):
    """Pairs that occurred, sorted by (first, second), and how often."""

    first_P: Tensor
    second_P: Tensor
    count_P: Tensor


class PairCounts:
    """Counts of pairs over one optimizer step."""

    def __init__(
        self, num_experts: int, *, sparse: bool, repeats: bool = False, device: torch.device | None = None
    ) -> None:
        """`repeats`: whether a token's K indices may be equal; such pairs are not counted."""
        self.num_experts, self.sparse, self.repeats = num_experts, sparse, repeats
        shape = (0,) if sparse else (num_experts, num_experts)
        self.count = torch.zeros(shape, device=device)
        self.code_P = torch.zeros(0, dtype=torch.int64, device=device)  # first * E + second; sparse form only

    def add_(self, indices_TK: Tensor, weight_T: Tensor | None) -> None:
        """Count all pairs among each token's experts; `weight_T` is 1 for tokens that count and 0 for
        others."""
        top_k = indices_TK.shape[1]
        first, second = torch.triu_indices(top_k, top_k, offset=1, device=indices_TK.device)
        a, b = indices_TK[:, first], indices_TK[:, second]
        weight = (
            torch.ones_like(a, dtype=torch.float32) if weight_T is None else weight_T[:, None].expand(a.shape)
        )
        if self.repeats:
            weight = weight * (a != b)
        # Half of the work: count a pair once, smaller index first, and mirror it afterwards.
        code = (torch.minimum(a, b) * self.num_experts + torch.maximum(a, b)).reshape(-1)
        if self.sparse:
            self.merge_(*_mirrored(*_summed(code, weight.reshape(-1)), self.num_experts))
        else:
            size = self.num_experts
            upper = (
                torch.zeros(size * size, device=code.device)
                .index_add_(0, code, weight.reshape(-1))
                .view(size, size)
            )
            self.count.add_(upper).add_(upper.T)

    def merge_(self, code_P: Tensor, count_P: Tensor) -> None:
        """Add pairs by code (sparse form)."""
        self.code_P, self.count = _summed(torch.cat([self.code_P, code_P]), torch.cat([self.count, count_P]))

    def pairs(self) -> PairList:
        """The pairs that occurred, from either form."""
        if self.sparse:
            met_P = self.count > 0
            code_P, count_P = self.code_P[met_P], self.count[met_P]
            return PairList(code_P // self.num_experts, code_P % self.num_experts, count_P)
        first_P, second_P = self.count.nonzero(as_tuple=True)
        return PairList(first_P, second_P, self.count[first_P, second_P])

    def dense(self) -> Tensor:
        """The E x E table; for tests and small pools."""
        if not self.sparse:
            return self.count
        table = torch.zeros(self.num_experts * self.num_experts, device=self.count.device)
        return table.index_add_(0, self.code_P, self.count).view(self.num_experts, self.num_experts)

    def zero_(self) -> None:
        if self.sparse:
            self.code_P, self.count = self.code_P[:0], self.count[:0]
        else:
            self.count.zero_()


def _summed(code_P: Tensor, count_P: Tensor) -> tuple[Tensor, Tensor]:
    unique_P, place_P = code_P.unique(return_inverse=True)
    return unique_P, torch.zeros(unique_P.shape[0], device=count_P.device).index_add_(0, place_P, count_P)


def _mirrored(code_P: Tensor, count_P: Tensor, num_experts: int) -> tuple[Tensor, Tensor]:
    flipped_P = code_P % num_experts * num_experts + code_P // num_experts
    return torch.cat([code_P, flipped_P]), torch.cat([count_P, count_P])
