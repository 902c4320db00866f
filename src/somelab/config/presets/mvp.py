"""The first models, v2 to V6 of report 004. All are version v1 here: raw queries, cumulative counts. The
report's AMP and torch.compile only affect speed: precision and compile keep somelab's defaults."""

from __future__ import annotations

from somelab.config.presets.preset import Preset, make, vary
from somelab.config.versions import Settings

SERIES = "MVP: the first models"

V3: Settings = {
    "model.d_model": 384,
    "model.num_layers": 8,
    "model.num_heads": 6,
    "model.seq_len": 256,
    "model.vocab_size": 8192,
    "experts.num_experts": 32,
    "experts.d_ffn": 1024,
    "experts.top_k": 4,
    "gravity.theta": 200.0,
    "train.batch_size": 64,
    "train.learning_rate": 8e-4,
    "train.weight_decay": 0.1,
    "train.epochs": 2,
}
RATES: Settings = {"gravity.alpha": 0.01, "gravity.beta": 0.001, "gravity.delta": 0.001}
# The linear query network is not named in the report, but no other gives its trainable counts.
MASK = "most likely without a causal mask, like the first notebook: no causal model has such a loss"
FILLED: Settings = {"data.source": "tinystories", "experts.init": "default", "router.kind": "linear"}


def mvp_v2() -> Preset:
    changes = {
        "model.d_model": 256,
        "model.num_layers": 4,
        "model.num_heads": 4,
        "experts.num_experts": 64,
        "train.epochs": 3,
    }
    note = f"72.80M in total needs 32 experts, not the stated 64; {MASK}"
    return vary(mvp_v3(), "mvp-v2", "the smallest of the first models", changes, stated=True, note=note)


def mvp_v3() -> Preset:
    return _mvp("mvp-v3", "a larger backbone, fewer experts", {**V3, **RATES}, note=MASK)


def mvp_v4() -> Preset:
    changes = {
        "experts.num_experts": 64,
        "experts.d_ffn": 1536,
        "experts.top_k": 2,
        "train.batch_size": 512,
        "train.epochs": 1,
    }
    return vary(mvp_v3(), "mvp-v4", "more, wider experts, two a token", changes, stated=True, note=MASK)


def mvp_v5() -> Preset:
    note = f"the report states no alpha, beta and delta here; those of mvp-v3 fill them; {MASK}"
    return _mvp("mvp-v5", "mvp-v3 again", V3, filled=RATES, note=note)


def mvp_v6() -> Preset:
    changes = {
        "model.num_layers": 10,
        "model.num_heads": 8,
        "experts.num_experts": 128,
        "experts.d_ffn": 1536,
        "train.batch_size": 256,
        "train.epochs": 3,
    }
    return vary(mvp_v3(), "mvp-v6", "the largest of the first models", changes, stated=True, note=MASK)


def _mvp(name: str, title: str, stated: Settings, filled: Settings | None = None, note: str = "") -> Preset:
    filled = {**FILLED, **(filled or {})}
    return make(
        name, title, series=SERIES, source="report 004", version="v1", stated=stated, filled=filled, note=note
    )
