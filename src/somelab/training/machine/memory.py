"""Whether a model fits this machine, told in one line before anything is allocated or written."""

from __future__ import annotations

from pathlib import Path

from somelab.config import Config
from somelab.errors import SomelabError
from somelab.model.count import count_parameters

BESIDE = 1e9
"""Bytes beside the weights: activations of one micro-batch, optimizer, the program itself."""


def check_memory(config: Config) -> None:
    """Raise if the weights alone do not fit this machine. Where the system does not tell its memory, nothing
    is checked."""
    needed, total = count_parameters(config).bytes + BESIDE, total_memory()
    if total is not None and needed > total:
        raise SomelabError(
            f"this model needs about {needed / 1e9:,.1f} GB of memory, and this machine has "
            f"{total / 1e9:,.1f} GB; add --scale small (or mini, micro), --experts.storage int8, which takes "
            "a byte per frozen weight, or --experts.family hadamard, which stores none"
        )


def total_memory() -> int | None:
    """Bytes of the machine's memory; None if the system does not tell."""
    path = Path("/proc/meminfo")
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None
