"""Token-expert pairs sorted by expert, each expert's rows padded to a bucket size.

The matmul library builds a kernel per matrix shape; buckets keep the shapes few. A padding row copies token 0
with gate 0. Shape letters: T tokens, E experts, K experts per token, P padded rows (T*K and what fills the
buckets)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from somelab.core.dispatch.blocks import bucket_of


class Rows(NamedTuple):
    """The row of every pair."""

    token_P: Tensor
    """The token of each row."""
    order: Tensor
    """The pairs (token * K + slot) sorted by expert."""
    place: Tensor
    """The row of each of them."""
    spans: list[tuple[int, int, int]]
    """(expert, first row, row after the last) of the experts that have any."""

    @property
    def num_rows(self) -> int:
        return self.token_P.shape[0]

    def gates(self, gates_TK: Tensor) -> Tensor:
        """Each row's gate; 0 for padding rows."""
        return gates_TK.new_zeros(self.num_rows).index_copy(0, self.place, gates_TK.reshape(-1)[self.order])


def arrange(indices_TK: Tensor, num_experts: int) -> Rows:
    """Sort the pairs by expert, with padding rows up to each expert's bucket size."""
    num_tokens, top_k = indices_TK.shape
    chosen = indices_TK.reshape(-1)
    order = chosen.argsort(stable=True)
    count_E = torch.bincount(chosen, minlength=num_experts)
    bucket = bucket_of(num_tokens)
    padded_E = (count_E + bucket - 1) // bucket * bucket
    # A sorted pair moves down by the padding of all experts before its own.
    padding_E = padded_E - count_E
    place = (
        torch.arange(order.numel(), device=order.device) + (padding_E.cumsum(0) - padding_E)[chosen[order]]
    )
    spans, begin = list[tuple[int, int, int]](), 0
    for expert, size in enumerate(padded_E.tolist()):
        if size:
            spans.append((expert, begin, begin + size))
            begin += size
    token_P = order.new_zeros(begin).index_copy_(0, place, order // top_k)
    return Rows(token_P, order, place, spans)
