"""The normalisation layers of the two backbones, with one epsilon for all precisions. nn.RMSNorm's own
default depends on the dtype, so a bf16 evaluation would normalise differently from training."""

from __future__ import annotations

from torch import nn

EPSILON = 1e-5


def build_norm(kind: str, d_model: int) -> nn.Module:
    """`layer` or `rms`. A LayerNorm keeps its bias whatever `model.bias` is: that setting is for linear
    layers."""
    return nn.LayerNorm(d_model, eps=EPSILON) if kind == "layer" else nn.RMSNorm(d_model, eps=EPSILON)
