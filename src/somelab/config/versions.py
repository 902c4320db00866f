"""The versions v1 to v7 of SoME as settings. The rates of a run (alpha, beta, ...) belong to its preset; here
is only what defines a version."""

from __future__ import annotations

from typing import Any

from somelab.errors import ConfigError, nearest

Settings = dict[str, Any]

# v1 to v4 pad every document to seq_len and count the padding, in the loss and in what moves the keys; from
# v5 on it is masked.
_PADDED: Settings = {"data.layout": "pad", "data.padding_in_loss": True, "gravity.count_padding": True}
_MASKED: Settings = {"data.layout": "pad", "data.padding_in_loss": False, "gravity.count_padding": False}

_V1: Settings = {
    "router.kind": "linear",
    "router.scoring": "dot",
    "gravity.usage": "cumulative",
    "gravity.inertia": "min",
    "gravity.norm": "unit",
    "gravity.theta": 200.0,
    "gravity.theta_percentile": None,
    "gravity.respawn": False,
    **_PADDED,
}
_V2: Settings = {
    **_V1,
    "router.scoring": "cosine",
    "gravity.usage": "ema",
    "gravity.theta": None,
    "gravity.theta_percentile": 0.05,
}
_MLP: Settings = {"router.kind": "mlp", "router.width": 2.0}
_RESPAWN: Settings = {"gravity.respawn": True, "gravity.respawn_threshold": 0.1}
_V5: Settings = {**_V2, "gravity.inertia": "max", **_MASKED}

# What the notebooks of all versions share beside a version's own settings: how attention starts, and AdamW
# under a cosine over all steps, without a warm-up. v6 and v7 call AdamW with its default betas.
NOTEBOOKS: Settings = {
    "model.attention_init": "xavier",
    "train.betas": (0.9, 0.95),
    "train.weight_decay": 0.1,
    "train.clip": 1.0,
    "train.warmup_fraction": 0.0,
    "train.final_lr_fraction": 0.0,
}

VERSIONS: dict[str, Settings] = {
    "v1": _V1,
    "v2": _V2,
    "v3": _V2,
    "v3.5": {**_V2, **_RESPAWN, "gravity.norm": "none"},
    "v4": {**_V2, **_MLP},
    "v5": _V5,
    "v6": {**_V5, **_MLP, **_RESPAWN, "gravity.norm": "unit_used"},
    "v7": {**_V5, **_MLP, **_RESPAWN, "gravity.norm": "clamp", "gravity.delta": 0.005},
}


def version_settings(version: str) -> Settings:
    """The settings of a version by dotted name; a copy, free to change."""
    if version not in VERSIONS:
        raise ConfigError("version", version, "is not a version of SoME", nearest(version, VERSIONS))
    return dict(VERSIONS[version])
