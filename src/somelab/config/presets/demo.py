"""The demo: the recommended settings in a model small enough to write readable recipes after two or three
minutes on one core. `somelab demo` trains it beside a dense block of the same trained size."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make
from somelab.config.presets.recipe import CREDIT, MODULATED, PARTS, modern
from somelab.config.versions import Settings

WIDTH = 128

SIZES: Settings = {
    "model.d_model": WIDTH,
    "model.num_layers": 2,
    "model.num_heads": 4,
    "model.seq_len": 128,
    "model.vocab_size": 2048,
    "experts.num_experts": 32,
    "experts.d_ffn": WIDTH,
    # Recipes are the most regular kind of built-in text; 6,000 are more than a demo reads.
    "data.source": "builtin:recipe",
    "data.layout": "pack",
    "data.train_subset_size": 6000,
    "data.val_subset_size": 200,
    "train.batch_size": 8,
    # Little, so that most of the time is training.
    "train.eval_tokens": 4096,
    "train.minutes": 3,
    # The best of 0.006, 0.012 and 0.024 (lab/LOG.md).
    "train.learning_rate": 0.012,
    "train.precision": "fp32",
}

BASELINE: Settings = {
    "model.feed_forward": "dense",
    "model.d_dense": WIDTH,
    # Its own best, of 0.003, 0.006, 0.012 and 0.024.
    "train.learning_rate": 0.006,
}
"""What makes it the baseline: a trained dense block, with as many trained weights as query network and mixer
have together, at its own best learning rate."""


def demo() -> Preset:
    return make(
        "demo",
        "three minutes on built-in text",
        series="demo",
        source="not in the reports",
        version="v7",
        filled={**PARTS, **CREDIT, **MODULATED, **modern(WIDTH), **SIZES},
    )
