"""The oracle: for every expert, find its tokens, compute its outputs, add them times the gates. Slow and
obvious.

Shape letters: T tokens, D model width, K experts per token, N tokens of one expert."""

from __future__ import annotations

import torch
from torch import Tensor

from somelab.core.dispatch.weights import ExpertWeights, expert_output


def dispatch_reference(
    x_TD: Tensor,
    indices_TK: Tensor,
    gates_TK: Tensor,
    weights: ExpertWeights,
    outputs_TKO: Tensor | None = None,
) -> Tensor:
    """output_T = sum_k gates_Tk * expert[indices_Tk](x_T)."""
    mixed = x_TD.new_zeros(x_TD.shape[0], weights.d_out)
    for expert in range(weights.down_EFD.shape[0]):
        tokens_N, slots_N = torch.where(indices_TK == expert)
        outputs = expert_output(weights, expert, x_TD[tokens_N])
        if outputs_TKO is not None:
            outputs_TKO[tokens_N, slots_N] = outputs.detach()
        mixed = mixed.index_add(0, tokens_N, (gates_TK[tokens_N, slots_N, None] * outputs).to(mixed.dtype))
    return mixed
