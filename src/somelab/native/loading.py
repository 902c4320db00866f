"""Build, load and register the compiled kernels, once per process. If that fails, the reason is kept and
torch does the work.

Called where a run or a benchmark starts, never at import."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from functools import lru_cache
from importlib.util import find_spec
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
    from somelab.native.private_folder import NotPrivate

    if os.environ.get(VARIABLE) == "0":
        return Status(False, f"{VARIABLE}=0")
    _register_triton()
    try:
        return Status(True, _registered())
    except ConfigError as error:  # no folder for the cached library
        return Status(False, str(error))
    except NotPrivate as error:
        # Said at once, and once: someone else may have tried to have code of theirs run.
        print(f"somelab: compiled kernels are not used: {error}", file=sys.stderr)
        return Status(False, str(error))
    except (CannotBuild, OSError) as error:
        return Status(False, " ".join(str(error).split()))


def _register_triton() -> None:
    """Kernels for a GPU, if there is one."""
    import torch

    if not torch.cuda.is_available() or find_spec("triton") is None:
        return
    from somelab.core.dispatch.hadamard_fused import register_on_gpu_
    from somelab.native.hadamard_triton import TritonHadamard

    register_on_gpu_(TritonHadamard())


def _registered() -> str:
    from somelab.core.dispatch.kernels import register_
    from somelab.native.building import CannotBuild, library, loaded_runtimes
    from somelab.native.table import NativeKernels

    path, content = library()
    before = loaded_runtimes()
    try:
        kernels = NativeKernels(opened(content))
    except (OSError, AttributeError) as error:  # no library, or one without our functions
        raise CannotBuild(f"{path} cannot be loaded ({error})") from None
    if loaded_runtimes() != before:
        raise CannotBuild("the library brought a second OpenMP runtime into the process")
    if not _agrees(kernels):
        raise CannotBuild(f"{path} computes wrong numbers: the compiler's fault; set CXX to another one")
    register_(kernels)
    return str(path)


def opened(content: bytes) -> ctypes.CDLL:
    """The library in this process, from a sealed copy in memory of what was checked: between check and use
    the file could be replaced, and one that is cut while it is mapped ends the process (SIGBUS)."""
    import fcntl

    descriptor = os.memfd_create("somelab-kernels", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(content)
        seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
        # The descriptor stays open: the loader knows libraries by path, and would take another library in a
        # later descriptor of the same number for this one.
        return ctypes.CDLL(f"/proc/self/fd/{descriptor}")
    except OSError:
        os.close(descriptor)
        raise


def _agrees(kernels: NativeKernels) -> bool:
    """A few numbers against torch's: a broken compiler would otherwise go unnoticed."""
    import torch
    from torch.nn import functional as F

    from somelab.native.calls import NAMES

    x = torch.linspace(-7, 7, 4 * 37).view(4, 37)
    for dtype in NAMES:
        out = torch.empty_like(x, dtype=dtype)
        kernels.activate(x.to(dtype), torch.zeros(37), out)
        if not torch.allclose(out.float(), F.gelu(x.to(dtype).float()), rtol=5e-3, atol=1e-5):
            return False
    agree = (
        _experts_agree,
        _hadamard_agrees,
        _groups_agree,
        _attention_agrees,
        _routing_agrees,
        _norms_agree,
    )
    return all(agrees(kernels) for agrees in agree)


def _experts_agree(kernels: NativeKernels) -> bool:
    import torch

    from somelab.core.dispatch.reference import dispatch_reference
    from somelab.core.dispatch.weights import ExpertWeights

    def wave(*shape: int) -> torch.Tensor:
        return torch.linspace(-9, 9, math.prod(shape)).sin().view(shape)

    weights = ExpertWeights(wave(3, 13, 20), wave(3, 13), wave(3, 20, 13), wave(3, 20))
    x_TD, gates_TK = wave(19, 20), wave(19, 2)
    indices_TK = torch.tensor([[0, 2]] * 17 + [[1, 0]] * 2)
    pairs, outputs_TKO = kernels.experts.sort(indices_TK, 3), torch.empty(19, 2, 20)
    mixed_TO = kernels.experts.forward(x_TD, gates_TK, pairs, weights, None, outputs_TKO)
    expected_TO = dispatch_reference(x_TD, indices_TK, gates_TK, weights)
    return torch.allclose(mixed_TO, expected_TO, rtol=1e-3, atol=1e-4)


def _routing_agrees(kernels: NativeKernels) -> bool:
    import torch
    from torch.nn import functional as F

    x_TD = torch.linspace(-3, 3, 200).sin().view(2, 100)
    unit_TD, _ = kernels.routing.scale_rows(x_TD, None, 1, rms=False)
    _, places_TK = kernels.routing.best_of_rows(x_TD, torch.zeros(100), 3)
    return torch.allclose(unit_TD, F.normalize(x_TD, dim=1), rtol=1e-4) and torch.equal(
        x_TD.gather(1, places_TK), x_TD.topk(3, dim=1).values
    )


def _norms_agree(kernels: NativeKernels) -> bool:
    import torch
    from torch.nn import functional as F

    x_TD, gain_D = torch.linspace(-3, 3, 74).sin().view(2, 37), torch.linspace(0.5, 2, 37)
    return torch.allclose(
        kernels.norms.forward(x_TD, gain_D, 1e-5)[0], F.rms_norm(x_TD, (37,), gain_D, 1e-5), rtol=1e-4
    )


def _groups_agree(kernels: NativeKernels) -> bool:
    import torch
    from torch.nn import functional as F

    x_D, used_K = torch.linspace(-2, 2, 37), torch.tensor([0, 2])
    gate_up = torch.linspace(-1, 1, 3 * 2 * 5 * 37).sin().view(3, 2, 5, 37)
    down, mean = torch.linspace(-1, 1, 3 * 5 * 37).cos().view(3, 5, 37), torch.linspace(0, 1, 15).view(3, 5)
    out_D, both = torch.ones(37), gate_up[used_K] @ x_D
    hidden = F.silu(both[:, 0]) * both[:, 1] - mean[used_K]
    expected_D = 1 + torch.einsum("kn,knd->d", hidden, down[used_K])
    kernels.groups.add_groups_(out_D, x_D, used_K, gate_up, down, mean)
    return torch.allclose(out_D, expected_D, rtol=1e-3, atol=1e-4)


def _attention_agrees(kernels: NativeKernels) -> bool:
    import torch
    from torch.nn import functional as F

    qkv_N3D = torch.linspace(-3, 3, 19 * 60).sin().view(19, 60)
    query, key, value = qkv_N3D.view(19, 3, 2, 10).permute(1, 2, 0, 3)
    expected_HNC = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    out_ND, _ = kernels.attention.forward(qkv_N3D, torch.tensor([19]), 2, causal=True)
    return torch.allclose(out_ND, expected_HNC.transpose(0, 1).reshape(19, 20), rtol=1e-3, atol=1e-4)


def _hadamard_agrees(kernels: NativeKernels) -> bool:
    import torch

    from somelab.core.dispatch.hadamard import HadamardPool, hadamard_reference

    x_TD = torch.linspace(-3, 3, 200).view(2, 100)
    routing = torch.tensor([[0, 2], [1, 0]]), torch.full((2, 2), 0.5)

    def agrees(modulated: bool) -> bool:
        pool = HadamardPool(key=7, num_experts=3, d_model=100, d_ffn=256, modulated=modulated)
        out_TD = kernels.hadamard.forward(x_TD, *routing, pool)
        return torch.allclose(out_TD, hadamard_reference(x_TD, *routing, pool), rtol=1e-3, atol=1e-4)

    return agrees(False) and agrees(True)
