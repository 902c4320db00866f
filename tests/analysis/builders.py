"""A small SoME run on the built-in corpus, trained once for all tests that look at runs, and copies of it to
damage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from somelab.config import override, preset
from somelab.training.session import start
from tests.training.builders import SMALL

SETTINGS: dict[str, Any] = {
    **SMALL,
    "data.source": "builtin:story",
    "data.train_subset_size": 120,
    "data.val_subset_size": 20,
    "model.num_layers": 3,
    "train.steps": 24,
    "train.eval_every": 8,
    "train.snapshot_every": 4,
    "train.minutes": None,
}


def train_run(out: Path, **more: Any) -> Path:
    """A finished run; `more` are settings with `__` for the dot."""
    given = {name.replace("__", "."): value for name, value in more.items()}
    config = override(preset("demo").config, {**SETTINGS, **given})
    start(config, out, {"name": out.name, "preset": "demo", "scale": "full"})
    return out
