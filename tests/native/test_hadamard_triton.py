"""The Triton kernels of Hadamard experts equal the torch path, gradients and credit included; which kernels a
device gets."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from somelab.core.dispatch.hadamard_fused import kernels_for, register_on_gpu_
from somelab.core.dispatch.kernels import register_
from somelab.native import loading
from somelab.native.table import NativeKernels

needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")


def lines_of(program: str) -> list[list[str]]:
    """What a program of this folder prints, in words."""
    command = [sys.executable, "-m", f"tests.native.{program}"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


@needs_triton
def test_they_are_the_torch_path_in_the_interpreter() -> None:
    lines = lines_of("hadamard_in_triton")
    assert len(lines) == 12
    assert all(float(worst) < 2e-5 for *_, worst in lines)
    assert any(float(worst) > 0 for *_, worst in lines)


@needs_triton
@pytest.mark.slow
def test_they_compile_for_a_gpu() -> None:
    sizes = [int(words[0]) for words in lines_of("hadamard_for_cuda")]
    assert len(sizes) == 6
    assert min(sizes) > 1000


@needs_triton
def test_a_gpu_gets_triton_and_a_cpu_gets_compiled_code(
    compiled: NativeKernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    loading._register_triton()
    register_(compiled)
    try:
        assert type(kernels_for("cuda", torch.float16)).__name__ == "TritonHadamard"
        assert kernels_for("cuda", torch.float64) is None
        assert kernels_for("cpu", torch.float32) is compiled.hadamard
        assert kernels_for("cpu", torch.float16) is None
    finally:
        register_(None)
        register_on_gpu_(None)
    assert kernels_for("cuda", torch.float16) is None
    assert kernels_for("cpu", torch.float32) is None
