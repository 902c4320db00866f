"""A processor that advertises AMX and rejects it: found out in another process, once, and avoided."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from somelab.training.machine import amx, precision

CPU = torch.device("cpu")


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Any]]:
    """A processor that advertises AMX, an empty cache, and the commands that try a product."""
    commands: list[Any] = []
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    monkeypatch.setenv("SOMELAB_CACHE", str(tmp_path))
    monkeypatch.setenv(amx.LIMIT, "")  # so that it is restored afterwards
    monkeypatch.delenv(amx.LIMIT)
    amx.is_usable.cache_clear()
    precision.has_native_bf16.cache_clear()
    yield commands
    amx.is_usable.cache_clear()
    precision.has_native_bf16.cache_clear()


def end_with(monkeypatch: pytest.MonkeyPatch, commands: list[Any], code: int) -> None:
    def run(command: list[str], **_: Any) -> SimpleNamespace:
        commands.append(command)
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(amx.subprocess, "run", run)


def test_a_unit_that_ends_processes_is_avoided(tried: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    end_with(monkeypatch, tried, -4)
    assert precision.resolve("auto", CPU) == torch.float32
    assert os.environ[amx.LIMIT] == amx.WITHOUT_AMX
    assert precision.resolve("bf16", CPU) == torch.bfloat16, "whoever asks for bf16 gets it, without AMX"
    assert len(tried) == 1


def test_a_unit_that_works_is_used(tried: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    end_with(monkeypatch, tried, 0)
    assert precision.resolve("auto", CPU) == torch.bfloat16
    assert amx.LIMIT not in os.environ


def test_the_answer_is_kept_for_later_processes(tried: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    end_with(monkeypatch, tried, -4)
    assert not amx.is_usable()
    amx.is_usable.cache_clear()
    monkeypatch.delenv(amx.LIMIT)
    assert not amx.is_usable()
    assert len(tried) == 1


def test_without_a_cache_a_product_is_tried_each_time(
    tried: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SOMELAB_CACHE", str(tmp_path / "file"))
    end_with(monkeypatch, tried, -4)
    assert not amx.is_usable()
    assert len(tried) == 1


@pytest.mark.parametrize(("limit", "usable"), [("AVX2", False), ("AVX512_CORE_AMX", True), ("all", True)])
def test_the_users_own_limit_decides(
    tried: list[Any], monkeypatch: pytest.MonkeyPatch, limit: str, usable: bool
) -> None:
    end_with(monkeypatch, tried, -4)
    monkeypatch.setenv(amx.LIMIT, limit)
    assert amx.is_usable() is usable
    assert os.environ[amx.LIMIT] == limit
    assert not tried


def test_a_bf16_product_ends_no_prepared_process(tmp_path: Path) -> None:
    """On the processor of this machine, whatever it is."""
    code = "from somelab.training.machine.process import prepare_process; prepare_process(); " + amx.PRODUCT
    environment = {name: value for name, value in os.environ.items() if name != amx.LIMIT}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, "SOMELAB_CACHE": str(tmp_path)}, timeout=300
    )
    assert done.returncode == 0
