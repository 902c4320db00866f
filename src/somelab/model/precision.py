"""The dtype in which linear layers compute, which masks and the chunked loss must match."""

from __future__ import annotations

import torch
from torch import Tensor


def compute_dtype(weight: Tensor) -> torch.dtype:
    """autocast's dtype where it is on, else the weight's own."""
    device_type = weight.device.type
    return torch.get_autocast_dtype(device_type) if torch.is_autocast_enabled(device_type) else weight.dtype
