"""The figures of a finished run, read from its folder: used by tables and claims."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import Any

from somelab.experiments.probes.probes import read_probes
from somelab.runs import RunFolder, checkpoint

LAYER_MEANS = (
    "gini",
    "entropy_bits",
    "effective_experts",
    "dead_share",
    "num_combinations",
    "combination_entropy_bits",
)
LAST_QUARTER = 0.75
WITH_PADDING = ("training_gini_with_padding", "training_entropy_bits_with_padding")
"""Of the usage in training, where padding is in the loss; of the middle layer, as in the reports."""


def figures_of(run: RunFolder) -> dict[str, float]:
    """Everything that a run measured at its end, by name. A run without SoME layers has no figures of
    routing."""
    final = final_record(run)
    if final is None:
        return {}
    names = ("val_loss", "val_ppl", "bits_per_byte", "loss_with_padding", "ppl_with_padding", "tokens")
    figures = {name: float(final[name]) for name in names if final.get(name) is not None}
    layers: list[dict[str, float]] = final.get("layers") or []
    if layers:
        for name in (*LAYER_MEANS, "crowding", "gate_entropy"):
            figures[name] = fmean(layer[name] for layer in layers)
        middle = layers[len(layers) // 2]
        figures["gini_middle"], figures["entropy_bits_middle"] = middle["gini"], middle["entropy_bits"]
        figures.update({name: middle[name] for name in WITH_PADDING if name in middle})
        figures.update(_respawns(run, final["step"]))
        figures.update(_late(run, final["step"]))
    parameters: dict[str, int] = run.facts().get("parameters") or {}
    figures.update(
        {name: float(parameters[name]) for name in ("trainable", "total", "active") if name in parameters}
    )
    model = run.checkpoints / "last" / checkpoint.MODEL
    if model.exists():
        figures["checkpoint_bytes"] = float(model.stat().st_size)
    return {**figures, **read_probes(run)}


def losses_by_step(run: RunFolder) -> dict[int, float]:
    """Validation loss at every evaluation. The last one uses all of the text, the others a part of it."""
    records = [record for record in run.records("metrics") if record["kind"] in ("evaluation", "final")]
    return {
        int(record["step"]): float(record["val_loss"]) for record in records if record["val_loss"] is not None
    }


def final_record(run: RunFolder) -> dict[str, Any] | None:
    """The record of the last evaluation; None before it."""
    return next((record for record in reversed(run.records("metrics")) if record["kind"] == "final"), None)


def summary(folder: Path) -> str:
    """The last evaluation of a run in a few words."""
    records = RunFolder(folder).records("metrics") if (folder / "metrics.jsonl").exists() else []
    last = next((record for record in reversed(records) if record["kind"] in ("evaluation", "final")), None)
    return (
        "" if last is None else f"val_loss {last['val_loss']:.4f}, bits_per_byte {last['bits_per_byte']:.4f}"
    )


def _respawns(run: RunFolder, num_steps: int) -> dict[str, float]:
    """Respawns of all layers over the run, and those of its last quarter."""
    records = run.records("layers")
    if not records:
        return {}

    def count(record: dict[str, Any]) -> float:
        return float(sum(layer["respawns"] for layer in record["layers"]))

    total = count(records[-1])
    early = [count(record) for record in records if record["step"] <= LAST_QUARTER * num_steps]
    return {"respawns": total, "late_respawns": total - (early[-1] if early else 0.0)}


def _late(run: RunFolder, num_steps: int) -> dict[str, float]:
    """What changes late, mean over layers: how far keys move in a step of the last quarter, and how much the
    entropy of usage has grown since the first."""
    records = run.records("layers")
    moved = [
        layer["drift"]
        for record in records
        if record["step"] > LAST_QUARTER * num_steps
        for layer in record["layers"]
        if layer.get("drift") is not None
    ]
    known = [record for record in records if all("entropy_bits" in layer for layer in record["layers"])]
    early = [record for record in known if record["step"] <= (1 - LAST_QUARTER) * num_steps]
    found = {"late_drift": fmean(moved)} if moved else {}
    if early:
        first, last = (
            fmean(layer["entropy_bits"] for layer in record["layers"]) for record in (early[-1], known[-1])
        )
        found["late_entropy_growth_bits"] = last - first
    return found
