"""The oracle: for every expert, find its tokens, ask it, add the gated answers. Slow and obvious.

Shape letters: T tokens, D model width, K experts per token, N tokens of one expert."""

from __future__ import annotations

import torch
from torch import Tensor

from somelab.core.dispatch.weights import ExpertWeights, answer


def dispatch_reference(
    x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, weights: ExpertWeights, answers_TKO: Tensor | None = None
) -> Tensor:
    """answers_T = sum_k gates_Tk * expert[indices_Tk](x_T)."""
    mixed = x_TD.new_zeros(x_TD.shape[0], weights.d_out)
    for expert in range(weights.down_EFD.shape[0]):
        tokens_N, slots_N = torch.where(indices_TK == expert)
        answers = answer(weights, expert, x_TD[tokens_N])
        if answers_TKO is not None:
            answers_TKO[tokens_N, slots_N] = answers.detach()
        mixed = mixed.index_add(0, tokens_N, (gates_TK[tokens_N, slots_N, None] * answers).to(mixed.dtype))
    return mixed
