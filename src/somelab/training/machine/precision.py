"""The type of matrix products, by what the hardware supports natively."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any

import torch

from somelab.training.machine import amx


@lru_cache
def has_native_bf16(device: str) -> bool:
    """Whether the hardware multiplies bf16 natively; emulated, it is slower than fp32. So are the AVX-512
    instructions for bf16 of a processor whose AMX cannot be used: half as fast as fp32, measured."""
    if device == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device != "cpu":
        return False
    if torch.cpu._is_amx_tile_supported():  # pyright: ignore[reportPrivateUsage]
        return amx.is_usable()
    return torch.cpu._is_avx512_bf16_supported()  # pyright: ignore[reportPrivateUsage]


def resolve(precision: str, device: torch.device) -> torch.dtype:
    """The compute type that `train.precision` means on a device."""
    if precision == "auto":
        precision = "bf16" if has_native_bf16(device.type) else "fp32"
    if precision == "bf16" and device.type == "cpu":
        amx.is_usable()  # where it is broken, products of this process do without
    return torch.bfloat16 if precision == "bf16" else torch.float32


def autocast(dtype: torch.dtype, device: torch.device) -> contextlib.AbstractContextManager[Any]:
    if dtype == torch.float32:
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype)
