"""Token-expert pairs sorted by expert and cut into blocks: the work of the engines for frozen experts, piece
by piece.

The matmul library builds a kernel per matrix shape, so a product takes a multiple of 64 rows and at most
1024, which also stay in cache. The rows that fill a block up hold arbitrary values; they are computed and
never read. Shape letters: T tokens, E experts, K experts per token, P token-expert pairs (T*K)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

BUCKET = 64
LARGEST = 1024


class Block(NamedTuple):
    """Consecutive pairs of one expert."""

    expert: int
    begin: int
    end: int
    num_rows: int
    """Rows that its products take: end - begin, filled up to the bucket."""


class SortedPairs(NamedTuple):
    """All pairs in the order of their experts; those of one expert in the order of their tokens."""

    order_P: Tensor
    """Their numbers, token * K + slot."""
    token_P: Tensor
    expert_P: Tensor

    def gates(self, gates_TK: Tensor) -> Tensor:
        """Each pair's gate in fp32."""
        return gates_TK.reshape(-1)[self.order_P].float()

    def ends(self, num_experts: int) -> Tensor:
        """Where each expert's pairs end. By search in the sorted list, since counting would synchronise with
        the GPU."""
        experts = torch.arange(num_experts, device=self.expert_P.device)
        return torch.searchsorted(self.expert_P, experts, right=True, out_int32=True)

    def back_to_tokens(self, value_P: Tensor, like_TK: Tensor) -> Tensor:
        """A value of each pair, moved back to its token and slot."""
        flat = torch.empty(like_TK.numel(), dtype=like_TK.dtype, device=like_TK.device)
        return flat.index_copy_(0, self.order_P, value_P.to(like_TK.dtype)).view(like_TK.shape)


def bucket_of(num_tokens: int) -> int:
    """Products take a multiple of this many rows. It is smaller for few tokens, so that generating one does
    not cost 64 rows."""
    return min(BUCKET, 1 << max(0, num_tokens - 1).bit_length())


def sort_by_expert(indices_TK: Tensor) -> SortedPairs:
    expert_P, order_P = indices_TK.reshape(-1).sort(stable=True)
    return SortedPairs(order_P, order_P // indices_TK.shape[1], expert_P)


def cut(pairs: SortedPairs, num_experts: int, num_tokens: int) -> list[Block]:
    """The blocks of the experts that have any pair, in the order of the pairs."""
    bucket = bucket_of(num_tokens)
    blocks, begin = list[Block](), 0
    for expert, count in enumerate(torch.bincount(pairs.expert_P, minlength=num_experts).tolist()):
        for start in range(begin, begin + count, LARGEST):
            end = min(start + LARGEST, begin + count)
            blocks.append(Block(expert, start, end, -(-(end - start) // bucket) * bucket))
        begin += count
    return blocks
