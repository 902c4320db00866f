"""Run folders that were never trained: journals and snapshots of any size, written in the form that training
writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from somelab.config import Config, override
from somelab.runs import RunFolder

MEASURES = (
    "gini",
    "gini_mass",
    "entropy_bits",
    "entropy_bits_mass",
    "effective_experts",
    "coverage",
    "dead_share",
    "crowding",
)
MORE = ("key_norm_min", "key_norm_mean", "respawns", "gate_entropy", "drift", "drift_max")


def synthetic_run(
    path: Path, *, layers: int = 2, experts: int = 8, frames: int = 3, width: int = 16, records: int = 4
) -> RunFolder:
    """A run of keys that walk at random. It has no checkpoint and no samples."""
    sizes = {
        "model.num_layers": layers,
        "model.d_model": width,
        "model.num_heads": 1,
        "experts.num_experts": experts,
    }
    config = override(Config(), {**sizes, "experts.top_k": 2, "train.steps": max(1, frames * 10)})
    run = RunFolder.create(
        path,
        config,
        {"name": path.name, "preset": "a1", "scale": "mini"},
        {"command": ["somelab", "train"]},
        "{}",
    )
    # As earlier versions wrote it, without digests and sums: tests write its files by hand.
    (run.path / "run.json").write_text(json.dumps(run.facts()))
    rng = np.random.default_rng(0)
    keys = rng.normal(size=(layers, experts, width))
    for frame in range(frames):
        keys = keys + 0.1 * rng.normal(size=keys.shape)
        tensors: dict[str, Any] = {}
        for layer in range(layers):
            tensors[f"{layer}.keys"] = keys[layer].astype(np.float16)
            tensors[f"{layer}.usage"] = rng.gamma(0.5, 100, size=experts).astype(np.float32)
            tensors[f"{layer}.mass"] = rng.gamma(0.5, 25, size=experts).astype(np.float32)
            tensors[f"{layer}.born"] = np.where(rng.random(experts) < 0.02, frame * 10, 0).astype(np.int32)
        save_file(tensors, run.keys / f"step-{frame * 10:08d}.safetensors")
    append(
        run,
        "layers",
        [{"step": 10 * i, "layers": [_measures(rng) for _ in range(layers)]} for i in range(records)],
    )
    train = [
        {
            "kind": "train",
            "step": i + 1,
            "loss": 5 - i / 9,
            "learning_rate": 1e-3,
            "grad_norm": 1.0,
            "tokens": 64 * i,
        }
        for i in range(records)
    ]
    append(run, "metrics", train)
    append(run, "timing", [{"step": i + 1, "step_seconds": 0.5, "step_tokens": 64} for i in range(records)])
    return run


def _measures(rng: np.random.Generator) -> dict[str, float]:
    return {
        name: float(value) for name, value in zip((*MEASURES, *MORE), rng.random(len(MEASURES) + len(MORE)))
    }


def append(run: RunFolder, journal: str, records: list[dict[str, Any]]) -> None:
    with (run.path / f"{journal}.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
