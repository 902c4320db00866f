"""The doctor: facts of this machine, what it makes of other machines, and the versions it calls tested."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from somelab.cli.about import doctor, machine
from somelab.cli.main import main

CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = machine.matmul_speed
    monkeypatch.setattr(machine, "matmul_speed", lambda: measure(size=64, repeats=1))


@pytest.mark.usefixtures("quick")
def test_facts_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["ready"] is True
    assert {package["name"] for package in facts["packages"]} >= {"torch", "numpy", "pydantic", "tyro"}
    assert all(package["enough"] for package in facts["packages"])
    assert 1 <= facts["processor"]["usable_cores"] <= (os.cpu_count() or 1)
    assert 0 < facts["disk"]["free"] <= facts["disk"]["total"]
    assert facts["matmul_gflops"]["fp32"] > 0
    assert facts["matmul_gflops"]["bf16"] > 0


@pytest.mark.usefixtures("quick")
def test_the_page_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^torch +\S+ +>=", text, re.MULTILINE)
    assert re.search(r"^memory +[\d.?]+", text, re.MULTILINE)
    assert re.search(r"^experts +torch only, no compiled kernels: SOMELAB_NATIVE=0", text, re.MULTILINE)
    assert text.endswith("Ready.\n")


def test_a_missing_requirement_is_said_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = {"torch": None, "tyro": "0.9.2"}
    real = machine.installed
    monkeypatch.setattr(machine, "installed", lambda name: versions[name] if name in versions else real(name))
    assert main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert "- required: pip install 'torch>=2.10' (here: missing)" in text
    assert "- required: pip install 'tyro>=1.0' (here: 0.9.2)" in text
    assert text.endswith("Not ready: something required is missing.\n")


@pytest.mark.parametrize(
    ("features", "verdict"),
    [
        ({"avx2": True, "avx512f": True, "avx512_bf16": True, "amx_bf16": True}, "amx"),
        ({"avx2": True, "avx512f": True, "avx512_bf16": True, "amx_bf16": False}, "avx512"),
        ({"avx2": True, "avx512f": True, "avx512_bf16": False, "amx_bf16": False}, "emulated"),
        (None, "unknown"),
    ],
)
def test_what_the_features_mean_for_bf16(features: dict[str, bool] | None, verdict: str) -> None:
    assert doctor.bf16_verdict(features) == verdict


def test_advice_names_what_is_optional() -> None:
    facts: dict[str, Any] = {
        "python": "3.11.0",
        "packages": [],
        "matmul_gflops": {"fp32": 100.0, "bf16": 30.0},
        "bf16": "emulated",
        "compilers": {"g++": None, "ninja": "/usr/bin/ninja"},
        "extras": [
            {"name": "maps", "missing": ["umap-learn"], "install": "pip install 'somelab[maps]'"},
            {"name": "dev", "missing": [], "install": "pip install 'somelab[dev]'"},
        ],
    }
    emulated, compiler, extra = doctor.advice(facts)
    assert emulated.startswith("bf16 is emulated on this processor (30 GFLOP/s, fp32 100)")
    assert compiler.startswith("optional: g++ for compiled kernels")
    assert extra == "optional: pip install 'somelab[maps]' brings umap-learn"
    assert doctor.advice({**facts, "bf16": "amx", "compilers": {}, "extras": []}) == []


@pytest.mark.parametrize(
    ("native", "line"),
    [
        ({"ready": True, "reason": "/cache/kernels.so"}, "compiled kernels (/cache/kernels.so)"),
        ({"ready": False, "reason": "SOMELAB_NATIVE=0"}, "torch only, no compiled kernels: SOMELAB_NATIVE=0"),
        (None, "not known without torch"),
    ],
)
def test_which_code_computes_experts(native: dict[str, Any] | None, line: str) -> None:
    assert doctor._experts(native) == line


def test_tested_versions_are_those_of_the_constraints() -> None:
    pinned = dict(
        re.findall(r"^([\w-]+)==([\w.]+)(?:; python_version >= .*)?$", CONSTRAINTS.read_text(), re.MULTILINE)
    )
    pinned = {name.lower(): version for name, version in pinned.items()}
    assert {name: pinned[name] for name in machine.TESTED} == machine.TESTED
    assert {package["name"].lower() for package in machine.packages()} <= set(machine.TESTED)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("2.13.0+cpu", (2, 13, 0)), ("1.0", (1, 0)), ("2.5.0rc1", (2, 5, 0)), ("2.10.0a3", (2, 10, 0))],
)
def test_versions_compare_by_their_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert machine._numbers(text) == numbers
