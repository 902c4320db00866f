"""Which engine `auto` selects, by the device, the compute type and what is trained.

Shape letters: T tokens, D model width, K experts per token."""

from __future__ import annotations

import torch
from torch import Tensor

from somelab.core.dispatch.grouped_mm import fits_grouped_mm
from somelab.core.dispatch.int8 import multiplies_int8
from somelab.core.dispatch.int8_rows import kernels_for_int8
from somelab.core.dispatch.kernels import registered
from somelab.core.dispatch.weights import ExpertWeights, can_be_frozen, compute_dtype

LEAST_CAPABILITY = (8, 0)
"""Below it torch's grouped_mm fails; from 9.0 on it is one kernel, without synchronising with the host."""


def choose(
    device_type: str,
    capability: tuple[int, int] | None,
    dtype: torch.dtype,
    *,
    frozen: bool,
    native_available: bool,
    widths_fit: bool,
    int8: bool = False,
) -> str:
    """The name of the fastest engine. `capability`: CUDA's, None elsewhere; `widths_fit`: rows of whole 16
    bytes; `int8`: pools of integers on a processor that multiplies them."""
    if frozen and int8:
        return "int8"
    capable = device_type == "cuda" and capability is not None and capability >= LEAST_CAPABILITY
    if capable and dtype == torch.bfloat16 and widths_fit:
        return "grouped_mm"
    if frozen:
        return "native" if device_type == "cpu" and native_available else "frozen"
    return "grouped"


def choose_for(x_TD: Tensor, weights: ExpertWeights) -> str:
    """The same for given tokens and weights."""
    device, dtype, kernels = x_TD.device, compute_dtype(x_TD), registered()
    return choose(
        device.type,
        torch.cuda.get_device_capability(device) if device.type == "cuda" else None,
        dtype,
        frozen=can_be_frozen(weights),
        native_available=kernels is not None and kernels.supports(device.type, dtype),
        widths_fit=fits_grouped_mm(weights),
        int8=weights.down_scale_E is not None
        and device.type == "cpu"
        and (multiplies_int8() or kernels_for_int8(x_TD, dtype, weights) is not None),
    )
