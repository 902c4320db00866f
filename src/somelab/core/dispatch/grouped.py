"""The engine for experts that are trained, in whole or by adapters: one dense matmul per expert that has any
token.

Shape letters: T tokens, D model width, O width of an output, K experts per token, P rows of all experts."""

from __future__ import annotations

import torch
from torch import Tensor

from somelab.core.dispatch.rows import arrange
from somelab.core.dispatch.weights import ExpertWeights, expert_output


def dispatch_grouped(
    x_TD: Tensor,
    indices_TK: Tensor,
    gates_TK: Tensor,
    weights: ExpertWeights,
    outputs_TKO: Tensor | None = None,
) -> Tensor:
    """output_T = sum_k gates_Tk * expert[indices_Tk](x_T)."""
    if x_TD.shape[0] == 0:  # empty batch: send zero rows through expert 0 so that gradients exist
        return (expert_output(weights, 0, x_TD) * gates_TK[:, :1]).to(x_TD.dtype)
    rows = arrange(indices_TK, weights.down_EFD.shape[0])
    sizes = [end - begin for _, begin, end in rows.spans]
    blocks = x_TD.index_select(0, rows.token_P).split(sizes)
    outputs_PO = torch.cat(
        [
            expert_output(weights, expert, block)
            for (expert, _, _), block in zip(rows.spans, blocks, strict=True)
        ]
    )
    if outputs_TKO is not None:
        outputs_TKO.flatten(0, 1).index_copy_(0, rows.order, outputs_PO.detach()[rows.place])
    gated = outputs_PO * rows.gates(gates_TK)[:, None]
    return x_TD.new_zeros(x_TD.shape[0], weights.d_out).index_add(0, rows.token_P, gated.to(x_TD.dtype))
