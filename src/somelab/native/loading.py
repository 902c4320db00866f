"""Build, load and register the compiled kernels, once per process. If that fails, the reason is kept and
torch does the work.

Called where a run or a benchmark starts, never at import."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.native.table import NativeKernels

VARIABLE = "SOMELAB_NATIVE"


class Status(NamedTuple):
    """Whether compiled kernels are in use, and the reason or the place in one line."""

    ready: bool
    reason: str


@lru_cache
def load() -> Status:
    """Register the compiled kernels with the dispatch engines if this machine can build them."""
    from somelab.native.building import CannotBuild

    if os.environ.get(VARIABLE) == "0":
        return Status(False, f"{VARIABLE}=0")
    try:
        return Status(True, _registered())
    except ConfigError as error:  # no folder for the cached library
        return Status(False, str(error))
    except (CannotBuild, OSError) as error:
        return Status(False, " ".join(str(error).split()))


def _registered() -> str:
    from somelab.core.dispatch.kernels import register_
    from somelab.native.building import CannotBuild, library, loaded_runtimes
    from somelab.native.table import NativeKernels

    path = library()
    before = loaded_runtimes()
    kernels = NativeKernels(path)
    if loaded_runtimes() != before:
        raise CannotBuild("the library brought a second OpenMP runtime into the process")
    if not _agrees(kernels):
        raise CannotBuild(f"{path} computes wrong numbers: the compiler's fault; set CXX to another one")
    register_(kernels)
    return str(path)


def _agrees(kernels: NativeKernels) -> bool:
    """A few numbers against torch's: a broken compiler would otherwise go unnoticed."""
    import torch
    from torch.nn import functional as F

    from somelab.native.table import NAMES

    x = torch.linspace(-7, 7, 4 * 37).view(4, 37)
    for dtype in NAMES:
        out = torch.empty_like(x, dtype=dtype)
        kernels.activate(x.to(dtype), torch.zeros(37), out)
        if not torch.allclose(out.float(), F.gelu(x.to(dtype).float()), rtol=5e-3, atol=1e-5):
            return False
    return True
