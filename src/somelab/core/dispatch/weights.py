"""The weights of a pool, as dispatch engines use them, and the output of one expert for a block of tokens.

Shape letters: N tokens of one expert, D model width, F expert hidden width, E experts, R LoRA rank."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


class ExpertWeights(NamedTuple):
    """The tensors of a pool. None: that part does not exist. Without `up_EDF` an expert returns its hidden
    features."""

    down_EFD: Tensor
    down_bias_EF: Tensor
    up_EDF: Tensor | None = None
    up_bias_ED: Tensor | None = None
    gains_EF: Tensor | None = None
    lora_down_in_ERD: Tensor | None = None
    lora_down_out_EFR: Tensor | None = None
    lora_up_in_ERF: Tensor | None = None
    lora_up_out_EDR: Tensor | None = None
    down_scale_E: Tensor | None = None
    """With int8 matrices: an expert's matrix is its integers times its scale. Biases are zero then."""
    up_scale_E: Tensor | None = None

    def down(self, expert: int, dtype: torch.dtype) -> Tensor:
        """One expert's matrix in this type."""
        return _scaled(self.down_EFD, self.down_scale_E, expert, dtype)

    def up(self, expert: int, dtype: torch.dtype) -> Tensor | None:
        return None if self.up_EDF is None else _scaled(self.up_EDF, self.up_scale_E, expert, dtype)

    def in_type(self, dtype: torch.dtype) -> ExpertWeights:
        """All matrices in this type and without scales, for engines that take the pool as a whole."""
        if self.down_scale_E is None:
            return self
        everyone = slice(None)
        up_EDF = None if self.up_EDF is None else _scaled(self.up_EDF, self.up_scale_E, everyone, dtype)
        down_EFD = _scaled(self.down_EFD, self.down_scale_E, everyone, dtype)
        return self._replace(down_EFD=down_EFD, up_EDF=up_EDF, down_scale_E=None, up_scale_E=None)

    @property
    def d_out(self) -> int:
        """Width of an output: D, or F without an up-projection."""
        return self.down_EFD.shape[1] if self.up_EDF is None else self.up_EDF.shape[1]


def _scaled(matrices: Tensor, scale_E: Tensor | None, expert: int | slice, dtype: torch.dtype) -> Tensor:
    if scale_E is None:
        return matrices[expert].to(dtype)
    return matrices[expert].float().mul_(scale_E[expert][..., None, None]).to(dtype)


def can_be_frozen(weights: ExpertWeights) -> bool:
    """Whether no expert weight is trained."""
    adapted = weights.gains_EF is not None or weights.lora_down_in_ERD is not None
    return not adapted and not weights.down_EFD.requires_grad


def compute_dtype(x_TD: Tensor) -> torch.dtype:
    """The type of the products: autocast's if it is on, else that of the tokens."""
    device = x_TD.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x_TD.dtype


def expert_output(weights: ExpertWeights, expert: int, x_ND: Tensor) -> Tensor:
    """One expert's output for N tokens: W_up (gains * gelu(W_down x + b_down)) + b_up, with LoRA where it
    exists."""
    hidden_NF = _linear(x_ND, weights.down(expert, x_ND.dtype), weights.down_bias_EF[expert])
    if weights.lora_down_in_ERD is not None and weights.lora_down_out_EFR is not None:
        hidden_NF = hidden_NF + F.linear(
            F.linear(x_ND, weights.lora_down_in_ERD[expert]), weights.lora_down_out_EFR[expert]
        )
    hidden_NF = F.gelu(hidden_NF)
    if weights.gains_EF is not None:
        hidden_NF = hidden_NF * weights.gains_EF[expert].to(hidden_NF.dtype)
    up_DF = weights.up(expert, hidden_NF.dtype)
    if up_DF is None or weights.up_bias_ED is None:
        return hidden_NF
    output_ND = _linear(hidden_NF, up_DF, weights.up_bias_ED[expert])
    if weights.lora_up_in_ERF is not None and weights.lora_up_out_EDR is not None:
        output_ND = output_ND + F.linear(
            F.linear(hidden_NF, weights.lora_up_in_ERF[expert]), weights.lora_up_out_EDR[expert]
        )
    return output_ND


def _linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """F.linear for a frozen bias that may be stored in another type than the tokens."""
    return F.linear(x, weight, bias.to(x.dtype))
