"""Sweeps through submitit. Its local cluster stands in for Slurm: the same submission, pickling and files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from somelab.errors import SomelabError
from somelab.experiments.runner.plan import Arm
from somelab.experiments.sweeps.sweep import run_sweep
from tests.experiments.builders import plan_of
from tests.training.builders import config_of


def test_the_extra_is_named_where_it_is_missing(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(SomelabError, match=r"submitit is not installed; install somelab\[slurm\]"):
        run_sweep(plan_of(text), tmp_path, executor="slurm")


def test_slurm_gives_the_same_table(text: Path, tmp_path: Path) -> None:
    pytest.importorskip("submitit", reason="the extra slurm is not installed")
    plan = plan_of(text, Arm("beta-0", config_of(text, gravity__beta=0.0), base=None))
    for executor in ("local", "slurm"):
        assert run_sweep(plan, tmp_path / executor, executor=executor, num_workers=2).exit_code == 0
    for name in ("table.md", "table.csv", "table.json"):
        assert (tmp_path / "local" / name).read_bytes() == (tmp_path / "slurm" / name).read_bytes()
    assert list((tmp_path / "slurm" / ".submitit").iterdir())
