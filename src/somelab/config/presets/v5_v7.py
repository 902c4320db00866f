"""Versions 5, 6 and 7 of report 003: padding masked, inertia by the larger usage, then decay that works, then
respawn. The report gives results and few settings; the settings were published elsewhere."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make
from somelab.config.versions import Settings

SERIES = "v5 to v7: later versions"

V5: Settings = {
    "model.d_model": 512,
    "model.num_layers": 10,
    "model.num_heads": 8,
    "model.seq_len": 1024,
    "experts.num_experts": 128,
    "experts.d_ffn": 2048,
    "experts.top_k": 8,
    "experts.init": "sparse",
    "router.temperature": 1.0,
    "router.eval_temperature": 1.0,
    "gravity.alpha": 0.005,
    "gravity.beta": 0.001,
    "gravity.delta": 0.001,
    "gravity.theta_percentile": 0.05,
    "gravity.warmup_steps": 400,
    "gravity.ema_decay": 0.995,
    "data.val_subset_size": 1_000,
    "train.batch_size": 24,
    "train.epochs": 4,
    "train.learning_rate": 6e-4,
}
V6: Settings = {
    "model.d_model": 512,
    "model.num_layers": 8,
    "model.num_heads": 8,
    "model.seq_len": 768,
    "experts.num_experts": 256,
    "experts.d_ffn": 1024,
    "experts.top_k": 4,
    "experts.init": "sparse",
    "router.kind": "mlp",
    "router.width": 2.0,
    "gravity.alpha": 0.015,
    "gravity.beta": 0.001,
    "gravity.delta": 0.001,
    "gravity.respawn_threshold": 0.1,
    "gravity.theta_percentile": 0.05,
    "gravity.warmup_steps": 200,
    "gravity.ema_decay": 0.995,
    "data.train_subset_size": 20_000,
    "data.val_subset_size": 2_000,
    "train.batch_size": 32,
    "train.epochs": 4,
    "train.learning_rate": 6e-4,
}


def v5_linear() -> Preset:
    return _v5("v5-linear", "eight fixes, linear query network", "linear", V5)


def v5_mlp() -> Preset:
    return _v5("v5-mlp", "eight fixes, MLP query network", "mlp", {**V5, "router.width": 2.0})


def v6() -> Preset:
    return _later("v6", "only used keys are normalised", "v6", {}, V6)


def v7() -> Preset:
    settings = {**V6, "gravity.delta": 0.005, "router.temperature": 1.0, "router.eval_temperature": 1.0}
    return _later("v7", "clamped keys: experts respawn", "v7", {}, settings)


def _v5(name: str, title: str, router: str, elsewhere: Settings) -> Preset:
    return _later(name, title, "v5", {"router.kind": router, "data.train_subset_size": 10_000}, elsewhere)


def _later(name: str, title: str, version: str, stated: Settings, elsewhere: Settings) -> Preset:
    return make(
        name,
        title,
        series=SERIES,
        source="report 003, settings published elsewhere",
        version=version,
        stated={"model.vocab_size": 8192, **stated},
        elsewhere=elsewhere,
        filled={"data.source": "tinystories"},
    )
