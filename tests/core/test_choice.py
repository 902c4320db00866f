"""Which engine `auto` takes, for devices that are here and for those that are not."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from somelab.config.experts import Engine
from somelab.core.dispatch import ENGINES, frozen
from somelab.core.dispatch.choice import choose, choose_for
from somelab.errors import ConfigError
from somelab.native.table import NativeKernels
from tests.core.test_frozen_engines import load_of, run

BF16, FP32, FP16 = torch.bfloat16, torch.float32, torch.float16
FROZEN: dict[str, Any] = {"frozen": True, "native_available": True, "widths_fit": True}


@pytest.mark.parametrize(
    ("wanted", "device", "capability", "dtype", "changed"),
    [
        ("native", "cpu", None, FP32, {}),
        ("native", "cpu", None, BF16, {"widths_fit": False}),
        ("frozen", "cpu", None, FP32, {"native_available": False}),
        ("int8", "cpu", None, FP32, {"int8": True}),
        ("grouped", "cpu", None, FP32, {"int8": True, "frozen": False}),
        ("grouped", "cpu", None, FP32, {"frozen": False}),
        ("grouped_mm", "cuda", (9, 0), BF16, {}),
        ("grouped_mm", "cuda", (8, 0), BF16, {"frozen": False}),
        ("grouped_mm", "cuda", (12, 0), BF16, {}),
        ("frozen", "cuda", (7, 5), BF16, {}),
        ("frozen", "cuda", (9, 0), FP32, {}),
        ("frozen", "cuda", (9, 0), FP16, {}),
        ("frozen", "cuda", (9, 0), BF16, {"widths_fit": False}),
        ("grouped", "cuda", (7, 0), BF16, {"frozen": False}),
        ("frozen", "mps", None, FP32, {}),
        ("grouped", "mps", None, BF16, {"frozen": False}),
    ],
)
def test_the_rule(
    wanted: str, device: str, capability: tuple[int, int] | None, dtype: torch.dtype, changed: dict[str, Any]
) -> None:
    assert choose(device, capability, dtype, **{**FROZEN, **changed}) == wanted


def test_every_engine_can_be_asked_for() -> None:
    assert set(Engine.__args__) == set(ENGINES)


def test_auto_follows_what_is_registered(compiled: NativeKernels, monkeypatch: pytest.MonkeyPatch) -> None:
    load = load_of()
    assert choose_for(load.x_TD, load.weights) == "frozen"
    assert all(torch.equal(a, b) for a, b in zip(run("auto", load), run("frozen", load)))
    monkeypatch.setattr("somelab.core.dispatch.kernels._registered", [compiled])
    assert choose_for(load.x_TD, load.weights) == "native"
    assert choose_for(load.x_TD.double(), load.weights) == "frozen", "kernels are for fp32 and bf16"
    assert all(torch.equal(a, b) for a, b in zip(run("auto", load), run("native", load)))


def test_native_without_kernels_says_what_to_do() -> None:
    with pytest.raises(
        ConfigError,
        match=r"experts\.engine = 'native': no compiled kernels are loaded; .*somelab doctor.*auto",
    ):
        run("native", load_of())


@pytest.mark.usefixtures("native_kernels")
def test_native_names_the_type_that_it_cannot_do() -> None:
    load = load_of()
    with pytest.raises(ConfigError, match=r"'native': it cannot compute torch\.float64 on cpu"):
        frozen.dispatch_native(load.x_TD.double(), load.indices_TK, load.gates_TK, load.weights)
