"""Series A of report 001: width and depth of the backbone, on v4. Its last run is where depth collapses.
Series B, the studies and the baselines start from a1."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make, vary
from somelab.config.versions import NOTEBOOKS, Settings

SERIES = "A: width and depth"
SOURCE = "report 001"

A1: Settings = {
    "model.d_model": 384,
    "model.num_layers": 8,
    "model.num_heads": 8,
    "model.seq_len": 768,
    "model.vocab_size": 8192,
    "experts.num_experts": 64,
    "experts.d_ffn": 1024,
    "experts.top_k": 4,
    "experts.init": "default",
    "router.kind": "mlp",
    "router.width": 2.0,
    "router.temperature": 0.8,
    "gravity.alpha": 0.01,
    "gravity.beta": 0.005,
    "gravity.delta": 0.001,
    "gravity.theta_percentile": 0.05,
    "gravity.ema_decay": 0.99,
    "data.train_subset_size": 10_000,
    "data.val_subset_size": 2_000,
    "train.batch_size": 32,
    "train.learning_rate": 6e-4,
    "train.epochs": 4,
}

# What series A to C share and the reports leave out.
COMMON: Settings = {
    **NOTEBOOKS,
    "router.eval_temperature": 0.5,
    "gravity.warmup_steps": 400,
    "data.source": "tinystories",
}


def a1() -> Preset:
    return make(
        "a1", "the base of series A", series=SERIES, source=SOURCE, version="v4", stated=A1, elsewhere=COMMON
    )


def a2() -> Preset:
    return vary(a1(), "a2", "a1, wider", {"model.d_model": 512}, stated=True)


def a3() -> Preset:
    return vary(a1(), "a3", "a1, two layers deeper", {"model.num_layers": 10}, stated=True)


def a4() -> Preset:
    return vary(a2(), "a4", "wider and deeper: the best", {"model.num_layers": 10}, stated=True)


def a5() -> Preset:
    return vary(
        a1(), "a5", "a1, four layers deeper", {"model.num_layers": 12, "model.num_heads": 12}, stated=True
    )


def a6() -> Preset:
    return vary(
        a2(),
        "a6",
        "sixteen layers: collapse at depth",
        {"model.num_layers": 16, "model.num_heads": 16},
        stated=True,
        note=(
            "the report gives its final Gini/entropy twice: 0.904/2.848 is of the best checkpoint, which "
            "is epoch 1; 0.922/2.536 is epoch 4"
        ),
    )
