"""Two published presets made tiny, trained for twenty steps on a fixed text: the losses that they must go on
giving.

After a change that is meant to change them: `python -m tests.golden.curves` writes losses.json anew; say why
in the change."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import torch

from somelab.config import Config, override, preset, scaled
from tests.training.builders import losses_of, trainer_of, write_text

STORED = Path(__file__).with_name("losses.json")

# Experts that speak up, sharp gates and a high rate, so that what a rule does to the keys shows in the
# losses.
TINY: dict[str, Any] = {
    "model.d_model": 48,
    "model.num_heads": 2,
    "model.seq_len": 32,
    "experts.num_experts": 8,
    "experts.d_ffn": 32,
    "experts.init": "unit",
    "router.temperature": 0.2,
    "router.eval_temperature": 0.2,
    "gravity.warmup_steps": 4,
    "data.train_subset_size": None,
    "data.val_subset_size": None,
    "train.batch_size": 8,
    "train.steps": 20,
    "train.learning_rate": 3e-3,
    "train.precision": "fp32",
    # How weights start and AdamW's settings when these losses were stored; the presets were mended since.
    "model.attention_init": "linear",
    "router.init": "linear",
    "train.betas": (0.9, 0.95),
    "gravity.count_padding": False,
}
# v4 counts padding in the loss and keeps keys at unit length; v7 masks it, clamps, and lets keys be reborn.
CURVES: dict[str, dict[str, Any]] = {
    "a1": TINY,
    "v7": {
        **TINY,
        "train.warmup_fraction": 0.04,
        "gravity.delta": 0.3,
        "gravity.theta_percentile": 0.4,
        "data.layout": "pack",
    },
}


def config_of(name: str, text: Path, **changes: Any) -> Config:
    given = {f"gravity.{setting}": value for setting, value in changes.items()}
    return override(scaled(preset(name).config, "micro"), {**CURVES[name], "data.source": str(text), **given})


def run(name: str, folder: Path, **changes: Any) -> dict[str, Any]:
    """Losses of all steps, the last evaluation, and how many keys were respawned; `changes` of the
    gravity."""
    trainer = trainer_of(config_of(name, write_text(folder / "text.txt"), **changes), folder / "run")
    evaluation = trainer.fit().evaluation
    assert evaluation is not None
    return {
        "losses": losses_of(folder / "run"),
        "val_loss": evaluation.val_loss,
        "bits_per_byte": evaluation.bits_per_byte,
        "loss_with_padding": evaluation.loss_with_padding,
        "gini": [layer["gini"] for layer in evaluation.layers],
        "respawns": sum(int(layer.keystore.respawns) for layer in trainer.model.some_layers()),
    }


def main() -> None:
    torch.set_num_threads(1)
    curves: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SOMELAB_CACHE"] = str(Path(folder) / "cache")
        for name in CURVES:
            (Path(folder) / name).mkdir()
            curves[name] = run(name, Path(folder) / name)
    STORED.write_text(json.dumps(curves, indent=1) + "\n")


if __name__ == "__main__":
    main()
