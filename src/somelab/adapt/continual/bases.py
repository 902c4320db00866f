"""Where learners start: a SoME model and a dense one of equally many trained parameters, each trained on the first experience.
A base is a run folder, made once per seed and shared by its learners."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch

from somelab.adapt.continual.stream import Experience
from somelab.config import Config, override, preset, scaled
from somelab.model import Decoder
from somelab.model.count import count_parameters
from somelab.runs import RunFolder, checkpoint
from somelab.train.loop import Trainer
from somelab.train.world import World

SETTINGS: dict[str, Any] = {
    "model.backbone": "modern",
    "experts.trainability": "readout",
    "experts.init": "unit",
    "router.kind": "linear",
    "router.centre_queries": True,
    "router.temperature": 0.1,
    "router.eval_temperature": None,
    "router.learnable_temperature": True,
    "gravity.attraction_by": "winner",
    "gravity.load_bias": 0.001,
    "gravity.peer_pull": False,
    "gravity.decay": False,
    "data.layout": "pack",
    "data.padding_in_loss": False,
    "data.train_subset_size": 2000,
    "data.val_subset_size": 200,
    "train.learning_rate": 0.002,
    "train.precision": "fp32",
}
"""Settings that keep routing from collapsing (SPEC section 8), on top of a1."""


def some_config(scale: str, changes: dict[str, Any]) -> Config:
    """The SoME model of a continual study."""
    return override(override(scaled(preset("a1").config, scale), SETTINGS), changes)


def dense_config(config: Config) -> Config:
    """The same shell with a dense block of as many trained parameters as the SoME layer has, to the nearest unit of width."""
    one = count_parameters(override(config, {"model.feed_forward": "dense", "model.d_dense": 1})).trainable
    two = count_parameters(override(config, {"model.feed_forward": "dense", "model.d_dense": 2})).trainable
    width = 1 + round((count_parameters(config).trainable - one) / (two - one))
    return override(config, {"model.feed_forward": "dense", "model.d_dense": max(1, width)})


def trained_base(folder: Path, config: Config, first: Experience, num_steps: int, seed: int) -> Decoder:
    """A model trained on the first experience: from the folder, if it was finished there."""
    own = override(config, {"train.steps": num_steps, "train.seed": seed, "data.source": first.config.data.source})
    run = RunFolder(folder)
    if not _is_finished(run):
        # Half a base is of no use to anyone, and a base takes a minute: it is begun again.
        shutil.rmtree(folder, ignore_errors=True)
        run = RunFolder.create(
            folder, own, {"name": folder.name, "data": {"digest": first.data.digest}}, {}, first.data.tokenizer.to_json()
        )
        Trainer(run, own, first.data, World(0, 1, torch.device("cpu"))).fit()
    model = Decoder(own)
    checkpoint.load(run, model)
    return model.eval()


def _is_finished(run: RunFolder) -> bool:
    return (run.path / "run.json").is_file() and checkpoint.is_any(run) and checkpoint.read_state(run).finished
