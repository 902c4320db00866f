"""Versions 2, 3 and 3.5: the runs of the v2 report, the three v3 reports and v3.5. Linear queries, and keys
that share one gravity. Report 003 is an index of them; settings that it leaves out are in the reports behind
it (stated) or in their notebook (elsewhere)."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make, vary
from somelab.config.versions import NOTEBOOKS, Settings

SERIES = "v2, v3: early ablations"
INDEX = "report 003"

GRAVITY: Settings = {
    "gravity.alpha": 0.015,
    "gravity.beta": 0.001,
    "gravity.delta": 0.001,
    "gravity.theta_percentile": 0.05,
    "gravity.ema_decay": 0.995,
    "gravity.warmup_steps": 400,
}
# What the notebook of v2 and v3 gives, and no report.
NOTEBOOK: Settings = {**NOTEBOOKS, "router.kind": "linear", "router.eval_temperature": 0.5}
STORIES: Settings = {
    "model.vocab_size": 8192,
    "data.source": "tinystories",
    "data.train_subset_size": 20_000,
    "train.learning_rate": 8e-4,
    "train.epochs": 4,
}
# No v3 report has the number of validation stories: that of v2-pro.
FILLED: Settings = {"data.val_subset_size": 4_000}
PERCENTAGE = "21.55M of 2711.15M is 0.79 % trainable; the report states 1.06 %"

V2_PRO: Settings = {
    **GRAVITY,
    "model.d_model": 384,
    "model.num_layers": 10,
    "model.num_heads": 8,
    "model.seq_len": 1024,
    "model.vocab_size": 8192,
    "experts.num_experts": 128,
    "experts.d_ffn": 1024,
    "experts.top_k": 8,
    "experts.init": "sparse",
    "router.temperature": 1.0,
    "data.train_subset_size": 20_000,
    "data.val_subset_size": 4_000,
    "train.batch_size": 32,
    "train.learning_rate": 8e-4,
    "train.epochs": 4,
}
MEDIUM: Settings = {
    **STORIES,
    "model.d_model": 384,
    "model.num_layers": 6,
    "model.num_heads": 6,
    "model.seq_len": 256,
    "experts.num_experts": 64,
    "experts.d_ffn": 1024,
    "experts.top_k": 4,
    "experts.init": "default",
    "train.batch_size": 128,
}
LARGE: Settings = {**MEDIUM, "model.d_model": 512, "model.num_heads": 8, "experts.top_k": 8}
LONG: Settings = {**MEDIUM, "model.seq_len": 512}
WIDE_EXPERTS: Settings = {
    **MEDIUM,
    "model.num_layers": 8,
    "model.num_heads": 8,
    "model.seq_len": 768,
    "experts.num_experts": 128,
    "experts.d_ffn": 1536,
    "experts.init": "sparse",
    "train.batch_size": 64,
}
V3R_V1: Settings = {
    **WIDE_EXPERTS,
    "model.d_model": 512,
    "model.num_layers": 10,
    "experts.top_k": 8,
    "train.batch_size": 32,
}


def v2_pro() -> Preset:
    return make(
        "v2-pro",
        "128 sparse experts, all in use",
        series=SERIES,
        source=INDEX,
        version="v2",
        stated=V2_PRO,
        elsewhere={**NOTEBOOK, "data.source": "tinystories"},
    )


def v2_pro_k16() -> Preset:
    return vary(v2_pro(), "v2-pro-k16", "v2-pro, sixteen experts a token", {"experts.top_k": 16}, stated=True)


def v2_pro_no_beta() -> Preset:
    return vary(
        v2_pro(), "v2-pro-no-beta", "v2-pro without peer-pull", {"gravity.peer_pull": False}, stated=True
    )


def v3_sanity() -> Preset:
    small = {"model.d_model": 256, "model.num_layers": 4, "model.num_heads": 4}
    return _v3(
        "v3-sanity", "sanity check", {**MEDIUM, **small, "experts.num_experts": 32, "experts.top_k": 2}
    )


def v3_medium() -> Preset:
    return _v3("v3-medium", "medium baseline", MEDIUM)


def v3_capacity() -> Preset:
    changes = {"model.num_layers": 8, "experts.num_experts": 256, "experts.d_ffn": 1536}
    return _v3("v3-capacity", "capacity scaling: 256 experts", {**LARGE, **changes}, source=INDEX)


def v3_vocabulary() -> Preset:
    return _v3("v3-vocabulary", "twice the vocabulary", {**MEDIUM, "model.vocab_size": 16_384})


def v3_diversity() -> Preset:
    changes = {
        "model.vocab_size": 16_384,
        "experts.num_experts": 256,
        "experts.d_ffn": 1536,
        "experts.top_k": 16,
    }
    note = "1825.63M and 10.74M need a vocabulary of 8,192, not the stated 16,384"
    return _v3("v3-diversity", "256 experts, sixteen a token", {**MEDIUM, **changes}, note=note)


def v3_depth_vs_width() -> Preset:
    changes = {"model.num_layers": 10}
    return _v3("v3-depth-vs-width", "depth against width: 64 experts", {**LARGE, **changes}, source=INDEX)


def v3_batch_vs_sequence() -> Preset:
    changes = {"train.batch_size": 64}
    return _v3("v3-batch-vs-sequence", "batch size against length", {**LONG, **changes}, source=INDEX)


def v3_default() -> Preset:
    return _v3("v3-default", "default initialisation", LONG)


def v3_orthogonal() -> Preset:
    changes = {"experts.init": "orthogonal"}
    return _v3("v3-orthogonal", "orthogonal initialisation", {**LONG, **changes}, source=INDEX)


def v3_sparse() -> Preset:
    return _v3("v3-sparse", "sparse initialisation", {**LONG, "experts.init": "sparse"})


def v3_length_768() -> Preset:
    changes = {"model.seq_len": 768, "train.batch_size": 42}
    return vary(v3_sparse(), "v3-length-768", "v3-sparse, longer", changes, stated=True)


def v3_length_1024() -> Preset:
    changes = {"model.seq_len": 1024, "train.batch_size": 31}
    return vary(v3_sparse(), "v3-length-1024", "v3-sparse, longest", changes, stated=True)


def v3_eight_layers() -> Preset:
    return _v3("v3-eight-layers", "128 wide experts, eight layers", WIDE_EXPERTS)


def v3_ten_layers() -> Preset:
    return vary(
        v3_eight_layers(), "v3-ten-layers", "the same with ten layers", {"model.num_layers": 10}, stated=True
    )


def v3_width_512() -> Preset:
    return vary(v3_eight_layers(), "v3-width-512", "the same, 512 wide", {"model.d_model": 512}, stated=True)


def v3_width_768() -> Preset:
    return vary(
        v3_eight_layers(), "v3-width-768", "768 wide: it does not learn", {"model.d_model": 768}, stated=True
    )


def v3r_v1() -> Preset:
    return _v3("v3r-v1", "128 wide sparse experts", V3R_V1, source="report 002")


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
    stated = {
        "model.vocab_size": 8192,
        "router.temperature_over_run": (2.0, 1.5),
        "data.train_subset_size": 10_000,
        "data.val_subset_size": 1_000,
        "train.epochs": 2,
        "train.learning_rate": 6e-4,
    }
    elsewhere = {
        **NOTEBOOK,
        **GRAVITY,
        "model.d_model": 768,
        "model.num_layers": 8,
        "model.num_heads": 12,
        "model.seq_len": 768,
        "experts.num_experts": 128,
        "experts.d_ffn": 1536,
        "experts.top_k": 4,
        "experts.init": "sparse",
        "gravity.respawn_threshold": 0.1,
        "data.source": "tinystories",
        "train.batch_size": 32,
    }
    return make(
        "v3.5",
        "decay that is not undone",
        series=SERIES,
        source=INDEX,
        version="v3.5",
        stated=stated,
        elsewhere=elsewhere,
        note="an unused key can shrink to 0.80 at most in 624 steps, so no key respawns",
    )


def _v3(name: str, title: str, stated: Settings, source: str = "the v3 reports", note: str = "") -> Preset:
    return make(
        name,
        title,
        series=SERIES,
        source=source,
        version="v3",
        stated=stated,
        elsewhere={**NOTEBOOK, **GRAVITY, "router.temperature": 1.0},
        filled=FILLED,
        note=note,
    )
