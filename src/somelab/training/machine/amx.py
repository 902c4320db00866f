"""Whether AMX, the matrix unit of some processors, can be used. A virtual machine may advertise it and hide
the size of its tiles (CPUID leaf 0x1D). oneDNN then configures none, and the first bf16 product ends the
process (SIGILL). So a child process tries one, once per machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import torch

from somelab.disk.built_once import build_once, cache_root
from somelab.errors import ConfigError

LIMIT = "ONEDNN_MAX_CPU_ISA"
"""The variable of oneDNN, the library behind torch's products; it is read at the first product."""
WITHOUT_AMX = "AVX512_CORE_FP16"
PRODUCT = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x"
SECONDS = 120
ANSWER = "works"


@lru_cache
def is_usable() -> bool:
    """Whether bf16 products may use AMX. If it is advertised and broken, oneDNN is told to do without it, for
    this process and those that it starts. Call it before the first product."""
    if not torch.cpu._is_amx_tile_supported():  # pyright: ignore[reportPrivateUsage]
        return False
    if limit := os.environ.get(LIMIT):  # the user, or a parent process, has decided
        return "AMX" in limit.upper() or limit.upper() in ("ALL", "DEFAULT")
    works = _remembered()
    if not works:
        os.environ[LIMIT] = WITHOUT_AMX
    return works


def _remembered() -> bool:
    name = f"amx-{platform.node()}-{platform.release()}-{torch.__version__}".replace(os.sep, "-")

    def build(folder: Path) -> None:
        (folder / ANSWER).write_text("yes" if _product_works() else "no", encoding="utf-8")

    try:
        return (build_once(cache_root(), name, build) / ANSWER).read_text(encoding="utf-8") == "yes"
    except (ConfigError, OSError):  # a cache that cannot be written: try every time
        return _product_works()


def _product_works() -> bool:
    """Whether a process lives through a product. One that is too slow to tell counts as alive."""
    try:
        tried = subprocess.run([sys.executable, "-c", PRODUCT], capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return tried.returncode >= 0  # negative: ended by a signal
