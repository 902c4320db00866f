"""The initial models of learners: a SoME model and a dense one with equally many trained parameters, each
trained on the first experience. A base is a run folder, made once per random seed and shared by its
learners."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch

from somelab.adapt.continual.stream import Experience
from somelab.config import Config, override, preset, scaled
from somelab.config.presets import recipe
from somelab.model import Decoder
from somelab.model.count import equal_dense_width
from somelab.runs import RunFolder, checkpoint
from somelab.training.loop import Trainer
from somelab.training.machine.world import World

SETTINGS: dict[str, Any] = {
    **recipe.PARTS,
    "data.layout": "pack",
    "data.padding_in_loss": False,
    "data.train_subset_size": 2000,
    "data.val_subset_size": 200,
    "train.learning_rate": 0.002,
    "train.warmup_fraction": 0.04,
    "train.precision": "fp32",
}
"""The recipe without credit, with the other settings of a1."""


def some_config(scale: str, changes: dict[str, Any]) -> Config:
    """The SoME model of a continual study."""
    return override(override(scaled(preset("a1").config, scale), SETTINGS), changes)


def dense_config(config: Config) -> Config:
    """The same with a dense block of as many trained parameters as the SoME layer has, to the nearest unit of
    width."""
    return override(config, {"model.feed_forward": "dense", "model.d_dense": equal_dense_width(config)})


def trained_base(folder: Path, config: Config, first: Experience, num_steps: int, seed: int) -> Decoder:
    """A model trained on the first experience: from the folder, if it was finished there."""
    own = override(
        config, {"train.steps": num_steps, "train.seed": seed, "data.source": first.config.data.source}
    )
    run = RunFolder(folder)
    if not _is_finished(run):
        # An unfinished base is started again; it takes a minute.
        shutil.rmtree(folder, ignore_errors=True)
        run = RunFolder.create(
            folder,
            own,
            {"name": folder.name, "data": {"digest": first.data.digest}},
            {},
            first.data.tokenizer.to_json(),
        )
        Trainer(run, own, first.data, World(0, 1, torch.device("cpu"))).fit()
    model = Decoder(own)
    checkpoint.load(run, model)
    return model.eval()


def _is_finished(run: RunFolder) -> bool:
    return (
        (run.path / "run.json").is_file() and checkpoint.is_any(run) and checkpoint.read_state(run).finished
    )
