"""The runs of the first notebooks, v1 and v2: one without a causal mask, its successor with one, and a short
run. What is not a setting here is in their notes."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make
from somelab.config.presets.v2_v3 import GRAVITY
from somelab.config.versions import NOTEBOOKS, Settings

SERIES = "the first notebooks"
SOURCE = "the first notebooks"
BIASES = "its experts start with random biases, ours with 0"

LARGE: Settings = {
    **NOTEBOOKS,
    "model.d_model": 512,
    "model.num_layers": 8,
    "model.num_heads": 8,
    "model.seq_len": 512,
    "model.vocab_size": 8192,
    "experts.num_experts": 256,
    "experts.d_ffn": 1536,
    "experts.top_k": 8,
    "experts.init": "default",
    "router.kind": "linear",
    "gravity.alpha": 0.01,
    "gravity.beta": 0.001,
    "gravity.delta": 0.001,
    "gravity.theta": None,
    "gravity.theta_percentile": 0.05,
    "gravity.warmup_steps": 2_000,
    "data.source": "tinystories",
    "data.train_subset_size": 40_000,
    "data.val_subset_size": 10_000,
    "train.batch_size": 64,
    "train.epochs": 10,
    "train.learning_rate": 6e-4,
}


def v1_notebook() -> Preset:
    temperatures = {"router.temperature": 1.0, "router.eval_temperature": 1.0}
    note = f"no causal mask: its losses are not those of a language model; no end-of-text token; {BIASES}"
    settings = {**LARGE, **temperatures, "model.causal": False}
    return _notebook("v1-notebook", "no causal mask: reads the answer", "v1", settings, note=note)


def v2_baseline() -> Preset:
    settings = {**LARGE, "router.temperature": 0.8, "router.eval_temperature": 0.5, "gravity.ema_decay": 0.99}
    return _notebook("v2-baseline", "256 experts, with a causal mask", "v2", settings, note=BIASES)


def v2_speedrun() -> Preset:
    settings = {
        **LARGE,
        **GRAVITY,
        "model.d_model": 384,
        "model.num_layers": 6,
        "model.num_heads": 6,
        "experts.num_experts": 128,
        "experts.d_ffn": 1024,
        "experts.top_k": 4,
        "router.temperature": 1.0,
        "router.eval_temperature": 0.5,
        "data.train_subset_size": 20_000,
        "data.val_subset_size": 4_000,
        "train.batch_size": 256,
        "train.epochs": 6,
        "train.learning_rate": 8e-4,
    }
    del settings["experts.init"]
    stated = {"experts.init": "orthogonal"}
    return _notebook("v2-speedrun", "a short run", "v2", settings, stated)


def _notebook(
    name: str, title: str, version: str, elsewhere: Settings, stated: Settings | None = None, note: str = ""
) -> Preset:
    return make(
        name,
        title,
        series=SERIES,
        source=SOURCE,
        version=version,
        stated=stated,
        elsewhere=elsewhere,
        note=note,
    )
