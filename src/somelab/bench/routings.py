"""Synthetic routings of known shape, the same for every contender.

Shape letters: T tokens, E experts, K experts per token."""

from __future__ import annotations

import torch
from torch import Tensor

MANY = 4096
"""Experts from which on noise per token and expert would take gigabytes."""
PATTERNS = ("uniform", "skewed", "collapsed")
ZIPF = 1.5


def choices(pattern: str, num_tokens: int, num_experts: int, top_k: int, seed: int = 0) -> Tensor:
    """indices_TK, K distinct experts a token. uniform: equally likely; skewed: the r-th most likely with
    weight r^-1.5 (Zipf); collapsed: the same K for all."""
    rng = torch.Generator().manual_seed(seed)
    if pattern == "uniform" and num_experts > MANY:
        # One from each of K equal parts: distinct, and every expert is equally likely.
        part = num_experts // top_k
        return torch.randint(part, (num_tokens, top_k), generator=rng) + torch.arange(top_k) * part
    order_E = torch.randperm(num_experts, generator=rng)  # the likeliest are not the first ones
    if pattern == "collapsed":
        return order_E[:top_k].expand(num_tokens, top_k).contiguous()
    assert pattern in PATTERNS
    rank_E = torch.arange(1, num_experts + 1, dtype=torch.float32)
    logit_E = -ZIPF * rank_E.log() if pattern == "skewed" else torch.zeros(num_experts)
    # Drawing K without replacement by weight is taking the K largest of log weight + Gumbel noise.
    noise_TE = -torch.empty(num_tokens, num_experts).exponential_(generator=rng).log()
    return order_E[(logit_E + noise_TE).topk(top_k, dim=1).indices]


def gates(num_tokens: int, top_k: int, seed: int = 0) -> Tensor:
    """gates_TK: the softmax of normal scores, fp32."""
    return torch.randn(num_tokens, top_k, generator=torch.Generator().manual_seed(seed + 1)).softmax(dim=1)
