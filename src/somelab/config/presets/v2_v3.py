"""Versions 2, 3 and 3.5 of reports 002 and 003: many experts on one backbone, linear queries, sparse
initialisation. Report 003 is an index and leaves much open. One rule fills it: what V1 of report 002 (v3r-v1)
states, then what v2-pro states."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make, vary
from somelab.config.versions import Settings

SERIES = "v2, v3: early ablations"

V2_PRO: Settings = {
    "model.seq_len": 1024,
    "experts.num_experts": 128,
    "experts.top_k": 8,
    "experts.init": "sparse",
    "gravity.alpha": 0.015,
    "gravity.beta": 0.001,
    "gravity.delta": 0.001,
    "gravity.theta_percentile": 0.05,
    "gravity.ema_decay": 0.995,
    "data.train_subset_size": 20_000,
    "data.val_subset_size": 4_000,
    "train.batch_size": 32,
}
V3R_V1: Settings = {
    "model.d_model": 512,
    "model.num_layers": 10,
    "model.num_heads": 8,
    "model.seq_len": 768,
    "model.vocab_size": 8192,
    "experts.num_experts": 128,
    "experts.d_ffn": 1536,
    "experts.top_k": 8,
    "experts.init": "sparse",
    "data.source": "tinystories",
    "data.train_subset_size": 20_000,
    "train.batch_size": 32,
    "train.learning_rate": 8e-4,
    "train.epochs": 4,
}
FILLED: Settings = {**V2_PRO, **V3R_V1}
PERCENTAGE = "21.55M of 2711.15M is 0.79 % trainable; the report states 1.06 %"


def v2_pro() -> Preset:
    return _early("v2-pro", "128 sparse experts, all in use", V2_PRO, version="v2")


def v3_capacity() -> Preset:
    stated = {"model.seq_len": 256, "experts.num_experts": 256, "experts.top_k": 8}
    return _v3_report("v3-capacity", "capacity scaling: 256 experts", stated)


def v3_depth_vs_width() -> Preset:
    stated = {"model.seq_len": 256, "experts.num_experts": 64, "experts.top_k": 8}
    note = "its depth and width are not stated, and filled from v3r-v1"
    return _v3_report("v3-depth-vs-width", "depth against width: 64 experts", stated, note=note)


def v3_batch_vs_sequence() -> Preset:
    stated = {"model.seq_len": 512, "train.batch_size": 64}
    return _v3_report("v3-batch-vs-sequence", "batch size against length", stated)


def v3_orthogonal() -> Preset:
    return _v3_report(
        "v3-orthogonal", "orthogonal initialisation", {"model.seq_len": 512, "experts.init": "orthogonal"}
    )


def v3r_v1() -> Preset:
    return _early("v3r-v1", "128 wide sparse experts", V3R_V1, source="report 002")


def v3r_v2() -> Preset:
    changes = {"experts.num_experts": 512, "experts.d_ffn": 512}
    note = f'router collapse; {PERCENTAGE}; its entropy is the one at the start, it "collapsed back down"'
    return vary(v3r_v1(), "v3r-v2", "512 narrow ones: router collapse", changes, stated=True, note=note)


def v3r_v3() -> Preset:
    note = f"the report ends before its results; {PERCENTAGE}"
    return vary(
        v3r_v2(), "v3r-v3", "v3r-v2, sixteen experts a token", {"experts.top_k": 16}, stated=True, note=note
    )


def v3_5() -> Preset:
    elsewhere = {
        "model.seq_len": 768,
        "experts.num_experts": 128,
        "experts.d_ffn": 1536,
        "experts.top_k": 4,
        "experts.init": "sparse",
        "gravity.alpha": 0.015,
        "gravity.beta": 0.001,
        "gravity.delta": 0.001,
        "gravity.respawn_threshold": 0.1,
        "gravity.theta_percentile": 0.05,
        "gravity.warmup_steps": 400,
        "gravity.ema_decay": 0.995,
        "data.train_subset_size": 10_000,
        "train.batch_size": 32,
        "train.epochs": 2,
        "train.learning_rate": 6e-4,
    }
    return _early("v3.5", "decay that is not undone", {"model.vocab_size": 8192}, elsewhere, version="v3.5")


def _v3_report(name: str, title: str, stated: Settings, note: str = "") -> Preset:
    """A run of the first v3 report: TinyStories, 20,000 stories, and the default initialiser unless
    stated."""
    shared = {"data.source": "tinystories", "data.train_subset_size": 20_000, "experts.init": "default"}
    return _early(name, title, {**shared, **stated}, note=note)


def _early(
    name: str,
    title: str,
    stated: Settings,
    elsewhere: Settings | None = None,
    version: str = "v3",
    source: str = "report 003",
    note: str = "",
) -> Preset:
    return make(
        name,
        title,
        series=SERIES,
        source=source,
        version=version,
        stated=stated,
        elsewhere=elsewhere,
        filled=FILLED,
        note=note,
    )
