"""A small model that trains in three minutes on a laptop, on built-in text: a first look at moving keys."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make


def demo() -> Preset:
    return make(
        "demo",
        "three minutes on built-in text",
        series="demo",
        source="not in the reports",
        version="v7",
        filled={
            "model.d_model": 128,
            "model.num_layers": 4,
            "model.num_heads": 4,
            "model.seq_len": 128,
            "model.vocab_size": 2048,
            "experts.num_experts": 32,
            "experts.d_ffn": 256,
            "experts.top_k": 4,
            "gravity.alpha": 0.015,
            "gravity.beta": 0.001,
            "gravity.theta_percentile": 0.05,
            "gravity.ema_decay": 0.995,
            "gravity.warmup_steps": 100,
            "data.source": "builtin",
            "data.layout": "pack",
            "data.val_subset_size": 300,
            "train.batch_size": 16,
            "train.minutes": 3,
            "train.precision": "fp32",
        },
    )
