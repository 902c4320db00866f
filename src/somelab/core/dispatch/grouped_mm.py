"""One grouped matmul over all experts: the engine for CUDA, where it is a single kernel. Runs on CPU too.

Shape letters: T tokens, D model width, F expert hidden width, E experts, K experts per token, P token-expert
pairs."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional as F

from somelab.core.dispatch.blocks import sort_by_expert
from somelab.core.dispatch.frozen_grouped import dispatch_frozen_grouped
from somelab.core.dispatch.weights import ExpertWeights, can_be_frozen, compute_dtype, expert_output
from somelab.errors import ConfigError

ROW_MULTIPLE = 8  # elements of two bytes in 16 bytes, the row alignment of grouped matmuls


def dispatch_grouped_mm(
    x_TD: Tensor,
    indices_TK: Tensor,
    gates_TK: Tensor,
    weights: ExpertWeights,
    outputs_TKO: Tensor | None = None,
) -> Tensor:
    """output_T = sum_k gates_Tk * expert[indices_Tk](x_T)."""
    num_tokens = indices_TK.shape[0]
    if num_tokens == 0:  # empty batch: send zero rows through expert 0 so that gradients exist
        return (expert_output(weights, 0, x_TD) * gates_TK[:, :1]).to(x_TD.dtype)
    if not fits_grouped_mm(weights):
        d_ffn, d_model = weights.down_EFD.shape[1:]
        widths = f"model.d_model = {d_model} and experts.d_ffn = {d_ffn} must be multiples of {ROW_MULTIPLE}"
        raise ConfigError("experts.engine", "grouped_mm", widths, "change them, or choose engine grouped")
    weights = weights.in_type(compute_dtype(x_TD))
    if can_be_frozen(weights):
        return dispatch_frozen_grouped(x_TD, indices_TK, gates_TK, weights, outputs_TKO)
    pairs = sort_by_expert(indices_TK)
    expert_P, token_P = pairs.expert_P, pairs.token_P
    ends_E = pairs.ends(weights.down_EFD.shape[0])

    def per_expert(rows: Tensor, matrices: Tensor) -> Tensor:
        return F.grouped_mm(rows, matrices.to(rows.dtype).transpose(1, 2), offs=ends_E)

    x_PD = x_TD.index_select(0, token_P).to(compute_dtype(x_TD))  # autocast does not cover grouped matmuls
    hidden_PF = per_expert(x_PD, weights.down_EFD) + weights.down_bias_EF[expert_P].to(x_PD.dtype)
    if weights.lora_down_in_ERD is not None and weights.lora_down_out_EFR is not None:
        hidden_PF = hidden_PF + _low_rank(
            x_PD, weights.lora_down_in_ERD, weights.lora_down_out_EFR, per_expert
        )
    hidden_PF = F.gelu(hidden_PF)
    if weights.gains_EF is not None:
        hidden_PF = hidden_PF * weights.gains_EF[expert_P].to(hidden_PF.dtype)
    outputs = hidden_PF
    if weights.up_EDF is not None and weights.up_bias_ED is not None:
        outputs = per_expert(hidden_PF, weights.up_EDF) + weights.up_bias_ED[expert_P].to(x_PD.dtype)
        if weights.lora_up_in_ERF is not None and weights.lora_up_out_EDR is not None:
            outputs = outputs + _low_rank(
                hidden_PF, weights.lora_up_in_ERF, weights.lora_up_out_EDR, per_expert
            )
    if outputs_TKO is not None:
        outputs_TKO.flatten(0, 1).index_copy_(0, pairs.order_P, outputs.detach())
    gated = outputs * gates_TK.reshape(-1)[pairs.order_P, None]
    return x_TD.new_zeros(num_tokens, weights.d_out).index_add(0, token_P, gated.to(x_TD.dtype))


def fits_grouped_mm(weights: ExpertWeights) -> bool:
    """Whether all rows are whole multiples of 16 bytes, in any type of two bytes or more."""
    return all(width % ROW_MULTIPLE == 0 for width in weights.down_EFD.shape[1:])


def _low_rank(
    rows: Tensor, inner: Tensor, outer: Tensor, per_expert: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """outer[e] @ inner[e] @ row. The rank is padded with zeros, since a grouped matmul needs rows of 16-byte
    multiples."""
    missing = -inner.shape[1] % ROW_MULTIPLE
    return per_expert(per_expert(rows, F.pad(inner, (0, 0, 0, missing))), F.pad(outer, (0, missing)))
