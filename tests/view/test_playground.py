"""The playground's rules in TypeScript against those in Python: the trajectories that Python wrote are
current, and the TypeScript follows them. The second needs Node."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import torch

UI = Path(__file__).parents[2] / "ui"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ui_trajectories", UI / "trajectories.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_trajectories_are_those_of_the_rules(script: ModuleType) -> None:
    written = json.loads(script.TARGET.read_text(encoding="utf-8"))
    assert script.differences(written, script.trajectories()) == [], "run `python ui/trajectories.py`"
    assert torch.get_default_dtype() == torch.float32


def test_a_changed_number_is_noticed(script: ModuleType) -> None:
    assert script.differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.0 + 1e-12]}) == []
    assert script.differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.1]}) == ["/a/1"]
    assert script.differences({"a": [1.0]}, {"a": [1.0, 2.0]}) == ["/a"]


def test_the_typescript_rules_follow_them() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    if not (UI / "node_modules" / "vite").is_dir():
        pytest.skip("the packages of ui/ are not installed: run `make ui`")
    done = subprocess.run(
        [node, "tests/run.mjs"], cwd=UI, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "# fail 0" in done.stdout
    assert int(done.stdout.split("# pass ")[1].split()[0]) > 15
