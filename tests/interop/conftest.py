"""One small trained run for all tests of this folder, and no network: every tool is used offline."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

import somelab
from tests.training.builders import SMALL

# Read when trackio is imported, and not again.
os.environ["TRACKIO_DIR"] = tempfile.mkdtemp(prefix="somelab-trackio-")
os.environ["WANDB_SILENT"] = "true"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")


@pytest.fixture(scope="session")
def lm(tmp_path_factory: pytest.TempPathFactory, text: Path) -> somelab.LanguageModel:
    """Trained for a dozen steps, with keys that have moved. Do not change it."""
    out = tmp_path_factory.mktemp("interop") / "run"
    more = {"gravity.respawn": True, "router.kind": "linear", "train.eval_every": 6, "model.seq_len": 80}
    return somelab.train("demo", data=text, out=out, settings={**SMALL, **more})
