"""The workhorse on CPU: tokens sorted by expert, one dense matmul per expert that has any.

Each expert's rows are padded to a multiple of 64, so that the matmul library meets few distinct shapes: it builds
a kernel per shape, and with one per odd token count that took most of the time. Padding rows copy token 0 and have gate 0.
Shape letters: T tokens, D model width, K experts per token, P padded rows (T*K and what fills the buckets)."""

from __future__ import annotations

import torch
from torch import Tensor

from somelab.core.dispatch.weights import ExpertWeights, answer

BUCKET = 64


def dispatch_grouped(x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, weights: ExpertWeights) -> Tensor:
    """answers_T = sum_k gates_Tk * expert[indices_Tk](x_T)."""
    num_tokens, top_k = indices_TK.shape
    num_experts = weights.down_EFD.shape[0]
    if num_tokens == 0:
        return x_TD.new_zeros(0, weights.d_out)
    chosen = indices_TK.reshape(-1)
    order = chosen.argsort(stable=True)
    count_E = torch.bincount(chosen, minlength=num_experts)
    bucket = min(BUCKET, _power_of_two_above(num_tokens))  # one token being generated should not cost 64 rows
    padded_E = (count_E + bucket - 1) // bucket * bucket
    # Row r of the sorted pairs moves down by the padding of all experts before its own.
    shift_E = (padded_E - count_E).cumsum(0) - (padded_E - count_E)
    place = torch.arange(order.numel(), device=order.device) + shift_E[chosen[order]]
    sizes = padded_E.tolist()
    token_P = order.new_zeros(sum(sizes)).index_copy_(0, place, order // top_k)
    gate_P = gates_TK.new_zeros(token_P.shape[0]).index_copy(0, place, gates_TK.reshape(-1)[order])

    answers: list[Tensor] = []
    for expert, rows in enumerate(x_TD.index_select(0, token_P).split(sizes)):
        if rows.shape[0]:
            answers.append(answer(weights, expert, rows))
    gated = torch.cat(answers) * gate_P[:, None]
    return x_TD.new_zeros(num_tokens, weights.d_out).index_add(0, token_P, gated.to(x_TD.dtype))


def _power_of_two_above(number: int) -> int:
    return 1 << (number - 1).bit_length()
