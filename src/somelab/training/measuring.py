"""Per-layer measures of a model, as plain numbers for the journals: from a step's report, or from an
evaluation."""

from __future__ import annotations

from torch import Tensor

from somelab.core import measures
from somelab.core.keystore import GravityReport
from somelab.core.layer import SomeLayer


def balance(count_E: Tensor, mass_E: Tensor) -> dict[str, float]:
    """How evenly experts are used, by selections and by gate mass."""
    return {
        "gini": measures.gini(count_E),
        "gini_mass": measures.gini(mass_E),
        "entropy_bits": measures.entropy_bits(count_E),
        "entropy_bits_mass": measures.entropy_bits(mass_E),
        "effective_experts": measures.effective_experts(count_E),
        "coverage": measures.coverage(count_E),
        "dead_share": measures.dead_share(count_E),
    }


def key_geometry(layer: SomeLayer) -> dict[str, float]:
    """Crowding and lengths of the keys; of product keys, of the sub-keys."""
    store = layer.keystore
    length_E = store.key_lengths()
    return {
        "crowding": store.crowding(layer.router.top_k),
        "key_norm_min": float(length_E.min()),
        "key_norm_mean": float(length_E.mean()),
    }


def of_step(layer: SomeLayer, report: GravityReport | None) -> dict[str, float]:
    """Measures of a layer at a training step. Usage is the moving average if there is one, since one step is
    noisy.

    Without a report (the rules were not due) its measures are left out."""
    store = layer.keystore
    measured = {
        **balance(store.usage_E, store.mass_E),
        **key_geometry(layer),
        "respawns": int(store.respawns),
    }
    if report is not None:
        measured |= {
            "gate_entropy": report.gate_entropy,
            "drift": report.mean_drift,
            "drift_max": report.max_drift,
        }
    return measured
