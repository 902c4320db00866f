"""The figures of a finished run, read from its folder: what tables show and what claims are judged by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from somelab.experiments.probes import read_probes
from somelab.runs import RunFolder


@dataclass(frozen=True)
class Measure:
    """A figure by name, and how it is written."""

    name: str
    title: str
    form: str
    """Format of a value; its precision also serves for intervals."""
    meaning: str


# Means over layers unless a name says otherwise. The seeds report their middle layer.
MEASURES = (
    Measure("val_loss", "val_loss", ".4f", "nats per token that carries meaning"),
    Measure("val_ppl", "val_ppl", ".2f", "its exponential"),
    Measure("bits_per_byte", "bits/byte", ".4f", "the one that compares across tokenizers"),
    Measure("seed_ppl", "seed_ppl", ".3f", "perplexity with padding counted, as v1 to v4 of the seeds"),
    Measure("gini", "Gini", ".3f", "inequality of use, mean over layers"),
    Measure("gini_middle", "Gini, middle", ".3f", "the same of the middle layer, which the seeds report"),
    Measure("num_combinations", "sets", ",.0f", "distinct sets of K experts in use, mean over layers"),
    Measure("crowding", "crowding", ".3f", "mean cosine of a key to its K - 1 nearest: 1 means fused"),
    Measure("gate_entropy", "gate entropy", ".3f", "nats, at most ln K"),
    Measure("trainable", "trained", ",.0f", "parameters"),
    Measure("total", "total", ",.0f", "parameters, frozen ones included"),
    Measure("active", "active", ",.0f", "parameters that one token can use"),
    Measure("tokens", "tokens", ",.0f", "trained on"),
)
BY_NAME = {measure.name: measure for measure in MEASURES}

LAYER_MEANS = ("gini", "entropy_bits", "effective_experts", "dead_share", "num_combinations", "combination_entropy_bits")
LAST_QUARTER = 0.75


def figures_of(run: RunFolder) -> dict[str, float]:
    """Everything that a run measured at its end, by name. A run without SoME layers has no figures of routing."""
    final = final_record(run)
    if final is None:
        return {}
    names = ("val_loss", "val_ppl", "bits_per_byte", "seed_loss", "seed_ppl", "tokens")
    figures = {name: float(final[name]) for name in names if final.get(name) is not None}
    layers: list[dict[str, float]] = final.get("layers") or []
    if layers:
        for name in (*LAYER_MEANS, "crowding", "gate_entropy"):
            figures[name] = fmean(layer[name] for layer in layers)
        middle = layers[len(layers) // 2]
        figures["gini_middle"], figures["entropy_bits_middle"] = middle["gini"], middle["entropy_bits"]
        figures.update(_respawns(run, final["step"]))
    parameters: dict[str, int] = run.facts().get("parameters") or {}
    figures.update({name: float(parameters[name]) for name in ("trainable", "total", "active") if name in parameters})
    return {**figures, **read_probes(run)}


def final_record(run: RunFolder) -> dict[str, Any] | None:
    """The record of the last evaluation; None while a run has not come to it."""
    return next((record for record in reversed(run.records("metrics")) if record["kind"] == "final"), None)


def summary(folder: Path) -> str:
    """What came out of a run in a few words."""
    run = RunFolder(folder)
    final = final_record(run) if (folder / "metrics.jsonl").exists() else None
    return "" if final is None else f"val_loss {final['val_loss']:.4f}, bits_per_byte {final['bits_per_byte']:.4f}"


def _respawns(run: RunFolder, num_steps: int) -> dict[str, float]:
    """Rebirths of all layers over the run, and those of its last quarter."""
    records = run.records("layers")
    if not records:
        return {}

    def count(record: dict[str, Any]) -> float:
        return float(sum(layer["respawns"] for layer in record["layers"]))

    total = count(records[-1])
    early = [count(record) for record in records if record["step"] <= LAST_QUARTER * num_steps]
    return {"respawns": total, "late_respawns": total - (early[-1] if early else 0.0)}
