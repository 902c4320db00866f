"""The compiled kernels of experts without matrices, Hadamard and modulated ones: equal to the torch path,
gradients and credit included, at any width, with any number of threads and for every kind of processor that
the compiler knows.

Shape letters: T tokens, D model width, K experts per token."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import somelab
from somelab.core import rows
from somelab.core.dispatch import ENGINES, keep_loops_uncompiled_
from somelab.core.dispatch.hadamard import (
    HadamardPool,
    hadamard_alignment,
    hadamard_reference,
    next_power_of_two,
)
from somelab.core.dispatch.hadamard_engines import HADAMARD
from somelab.core.dispatch.hadamard_fused import HadamardKernels, hadamard_fused, hadamard_fused_alignment
from somelab.core.dispatch.kernels import register_
from somelab.errors import ConfigError
from somelab.native import building
from somelab.native.hadamard import NativeHadamard
from somelab.native.loading import opened
from somelab.native.table import NativeKernels

both_families = pytest.mark.parametrize("modulated", [False, True], ids=["hadamard", "modulated"])


class Load(NamedTuple):
    x_TD: Tensor
    indices_TK: Tensor
    gates_TK: Tensor
    grad_TD: Tensor
    pool: HadamardPool


def load_of(
    num_tokens: int = 7,
    d_model: int = 24,
    blocks: int = 1,
    num_experts: int = 9,
    top_k: int = 2,
    seed: int = 0,
    *,
    modulated: bool = False,
) -> Load:
    rng = torch.Generator().manual_seed(seed)
    x_TD, grad_TD = (torch.randn(num_tokens, d_model, generator=rng) for _ in range(2))
    indices_TK = torch.randint(num_experts, (num_tokens, top_k), generator=rng)
    gates_TK = torch.rand(num_tokens, top_k, generator=rng)
    d_ffn = blocks * next_power_of_two(d_model)
    pool = HadamardPool(seed + 5, num_experts, d_model, d_ffn, modulated)
    return Load(x_TD, indices_TK, gates_TK, grad_TD, pool)


def results(load: Load, kernels: HadamardKernels | None, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Output, gradients of tokens and gates, and alignment."""
    x_TD, indices_TK, gates_TK, grad_TD, pool = load
    x_TD, grad_TD = x_TD.to(dtype, copy=True).requires_grad_(), grad_TD.to(dtype)
    gates_TK = gates_TK.clone().requires_grad_()
    if kernels is None:
        output = hadamard_reference(x_TD, indices_TK, gates_TK, pool)
        alignment_TK = hadamard_alignment(x_TD, indices_TK, grad_TD, pool)
    else:
        output = hadamard_fused(x_TD, indices_TK, gates_TK, pool, kernels)
        alignment_TK = hadamard_fused_alignment(x_TD, indices_TK, grad_TD, pool, kernels)
    return [output.detach(), *torch.autograd.grad(output, (x_TD, gates_TK), grad_TD), alignment_TK]


def assert_equal(load: Load, kernels: HadamardKernels) -> None:
    for got, wanted in zip(results(load, kernels), results(load, None)):
        assert got.shape == wanted.shape
        largest = max((abs(value) for value in wanted.flatten().tolist()), default=0.0)
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=2e-5 * max(1.0, largest))


@given(
    load=st.builds(
        load_of,
        st.integers(0, 9),
        st.one_of(st.integers(1, 70), st.sampled_from([96, 128, 200, 256, 500, 512, 1000])),
        st.integers(1, 3),
        st.sampled_from([1, 3, 1000, 10**6]),
        st.integers(1, 4),
        st.integers(0, 100),
        modulated=st.booleans(),
    )
)
def test_it_is_the_torch_path(compiled: NativeKernels, load: Load) -> None:
    assert_equal(load, compiled.hadamard)


@both_families
@pytest.mark.parametrize("d_model", [1024, 2048, 3000, 4096, 8192])
def test_wide_models(compiled: NativeKernels, d_model: int, *, modulated: bool) -> None:
    """Three passes and more over memory."""
    assert_equal(load_of(3, d_model, modulated=modulated), compiled.hadamard)


@both_families
def test_signs_that_are_hashed_once_per_call_are_those_that_are_hashed_where_they_are_used(
    compiled: NativeKernels, *, modulated: bool
) -> None:
    load = load_of(num_tokens=40, num_experts=5, modulated=modulated)
    few = load._replace(pool=load.pool._replace(num_experts=10**6))  # more than uses: no table
    for got, wanted in zip(results(load, compiled.hadamard), results(few, compiled.hadamard)):
        assert torch.equal(got, wanted)


def test_masks_that_are_made_for_each_token_are_those_of_the_table(compiled: NativeKernels) -> None:
    """As many experts as the cache holds, and more, each used several times."""
    for num_experts in (16, 600):
        load = load_of(num_tokens=1300, d_model=128, num_experts=num_experts, top_k=2, modulated=True)
        assert_equal(load, compiled.hadamard)


@both_families
def test_bf16_is_read_and_rounded_and_computed_in_fp32(compiled: NativeKernels, *, modulated: bool) -> None:
    load = load_of(num_tokens=33, d_model=100, modulated=modulated)
    exact = load._replace(x_TD=load.x_TD.bfloat16().float(), grad_TD=load.grad_TD.bfloat16().float())
    got = results(load, compiled.hadamard, torch.bfloat16)
    for value, wanted in zip(got, results(exact, compiled.hadamard)):
        assert torch.equal(value, wanted.to(value.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        cast = results(load, compiled.hadamard)
    assert cast[0].dtype == torch.bfloat16
    assert torch.equal(cast[0], got[0])


@both_families
def test_two_threads_give_the_bits_of_one(compiled: NativeKernels, *, modulated: bool) -> None:
    load = load_of(num_tokens=300, d_model=64, blocks=2, num_experts=50, modulated=modulated)
    alone = results(load, compiled.hadamard)
    torch.set_num_threads(2)
    try:
        both = results(load, compiled.hadamard)
    finally:
        torch.set_num_threads(1)
    assert all(torch.equal(a, b) for a, b in zip(alone, both))


def test_inputs_need_not_lie_in_order(compiled: NativeKernels) -> None:
    load = load_of()
    turned = load._replace(
        **{
            name: getattr(load, name).T.contiguous().T
            for name in ("x_TD", "indices_TK", "gates_TK", "grad_TD")
        }
    )
    assert not turned.x_TD.is_contiguous()
    for got, wanted in zip(results(turned, compiled.hadamard), results(load, compiled.hadamard)):
        assert torch.equal(got, wanted)


@both_families
def test_what_is_no_number_stays_none(compiled: NativeKernels, *, modulated: bool) -> None:
    load = load_of(modulated=modulated)
    load.x_TD[1, 3] = float("nan")
    output = results(load, compiled.hadamard)[0]
    assert output[1].isnan().all()
    assert output[0].isfinite().all()


@pytest.mark.usefixtures("native_kernels")
@pytest.mark.parametrize("family", ["hadamard", "modulated"])
def test_a_layer_uses_it_and_credit_is_the_same(family: str) -> None:
    def credit(engine: str) -> Tensor:
        settings = {"family": family, "num_experts": 8, "top_k": 2, "engine": engine}
        layer = somelab.SomeLayer(48, {**settings, "d_ffn": 64})
        layer(torch.randn(20, 48, generator=torch.Generator().manual_seed(0))).square().sum().backward()
        return layer.statistics.credit_ED

    torch.testing.assert_close(credit("native"), credit("reference"), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("native_kernels")
def test_a_compiled_model_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without torch's own compiler behind it: what matters is what is traced. Queries are scaled by torch's
    functions then, so they are here, too: the bits are the same."""
    monkeypatch.setattr(rows, "_kernels", lambda *_: None)
    for table in (HADAMARD, ENGINES):
        for name, compute in table.items():
            monkeypatch.setitem(table, name, compute)  # pyright: ignore[reportArgumentType]
    settings: dict[str, Any] = {"family": "hadamard", "num_experts": 8, "top_k": 2, "d_ffn": 64}
    layer = somelab.SomeLayer(48, {**settings, "engine": "native"}).eval()
    x_TD = torch.randn(20, 48, generator=torch.Generator().manual_seed(0))
    wanted = layer(x_TD)
    keep_loops_uncompiled_()
    assert torch.equal(torch.compile(layer, backend="eager")(x_TD), wanted)
    torch.compiler.reset()


def test_without_kernels_it_is_refused() -> None:
    register_(None)
    layer = somelab.SomeLayer(16, {"family": "hadamard", "d_ffn": 16, "engine": "native"})
    with pytest.raises(ConfigError, match=r"experts\.engine = 'native': no compiled kernels .*choose auto"):
        layer(torch.randn(2, 16))


def _compiled_for(processor: str, family: str, folder: Path) -> NativeHadamard:
    flags = [flag for flag in building.FLAGS if not flag.startswith("-march")]
    source = next(path for path in building.SOURCES if path.stem == family)
    command = [building.find_compiler(), *flags, f"-march={processor}", "-fopenmp", str(source)]
    subprocess.run([*command, "-shared", "-o", str(folder / "one.so")], check=True, capture_output=True)
    return NativeHadamard(opened((folder / "one.so").read_bytes()), [family])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the names are those of x86 processors")
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize(("processor", "runs_with"), [("x86-64", "sse2"), ("skylake-avx512", "avx512dq")])
@both_families
def test_other_processors(processor: str, runs_with: str, tmp_path: Path, *, modulated: bool) -> None:
    """The library is compiled where it runs. Without AVX2, vectors are two registers; with AVX-512, one of 16
    lanes, which at least compiles here."""
    kernels = _compiled_for(processor, "modulated" if modulated else "hadamard", tmp_path)
    if runs_with in Path("/proc/cpuinfo").read_text().split():
        for d_model in (3, 12, 100, 512, 1024):
            assert_equal(load_of(d_model=d_model, modulated=modulated), kernels)
