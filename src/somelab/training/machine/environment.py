"""The environment of a run for its record: versions, machine, command."""

from __future__ import annotations

import os
import platform
import sys
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any

import torch

from somelab.native import load as load_native
from somelab.training.machine.precision import has_native_bf16
from somelab.training.machine.world import World

PACKAGES = ("somelab", "torch", "numpy", "tokenizers", "safetensors", "pydantic")


def describe(world: World) -> dict[str, Any]:
    return {
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": ["somelab", *sys.argv[1:]],
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "num_cores": os.cpu_count(),
        "num_threads": torch.get_num_threads(),
        "device": str(world.device),
        "num_ranks": world.size,
        "native_bf16": has_native_bf16(world.device.type),
        "native_kernels": load_native().reason,
    }
