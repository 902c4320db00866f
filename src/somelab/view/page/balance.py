"""Balance of a run over time, the thresholds beyond which a measure means collapse, and a sentence for each
failure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from somelab.config import Config
from somelab.config.model import READS_AHEAD
from somelab.core.collapse import DEAD_SHARE, FUSED_CROWDING, UNIFORM_GATES, Finding, findings
from somelab.view.page.curves import Journal, evaluations, of_kind
from somelab.view.page.packing import number
from somelab.view.page.tail import Record
from somelab.view.schema.page import Line, MeasureInfo, Series

KINDS = {
    "router collapse": "the router has collapsed onto a few experts",
    "dead experts": "most experts are never selected",
    "key fusion": "keys have fused, so that experts act in fixed guilds",
    "few combinations": "hardly more sets of experts are in use than guilds would need",
    "uniform gates": "gates are uniform, so that scores have no effect",
}
"""The failures of core/collapse.py in words that fit several layers at once."""


def measure_info(config: Config) -> list[MeasureInfo]:
    """Every measure with its bounds in this run, in the order in which a page shows them."""
    experts, top_k = config.experts.num_experts, config.experts.top_k
    bits, nats = math.log2(experts), math.log(top_k)
    rows: tuple[tuple[str, str, str, str, float | None, float | None], ...] = (
        ("gini", "Gini of usage", "", "0: all experts are used equally; near 1: one has all usage", 0, 1),
        ("gini_mass", "Gini of gate mass", "", "the same, by gate mass", 0, 1),
        (
            "entropy_bits",
            "Entropy of usage",
            "bits",
            "spread of usage over the experts; at most log2 E",
            0,
            bits,
        ),
        ("entropy_bits_mass", "Entropy of gate mass", "bits", "the same, by gate mass", 0, bits),
        (
            "effective_experts",
            "Effective experts",
            "",
            "how many equally used experts would have this entropy",
            1,
            experts,
        ),
        ("coverage", "Coverage", "experts", "experts with any use", 0, experts),
        ("dead_share", "Dead share", "", "share of the experts that were never selected", 0, 1),
        ("respawns", "Respawns", "", "keys reborn so far", 0, None),
        (
            "gate_entropy",
            "Gate entropy",
            "nats",
            "how evenly a token's gates weight its K experts; at most ln K",
            0,
            nats,
        ),
        (
            "crowding",
            "Crowding",
            "",
            "mean cosine of each key to its K-1 nearest; near 1 they have fused",
            None,
            1,
        ),
        (
            "combination_entropy_bits",
            "Combination entropy",
            "bits",
            "spread over the distinct sets of K experts in use",
            0,
            None,
        ),
        ("num_combinations", "Combinations", "sets", "distinct sets of K experts in use", 0, None),
        ("drift", "Drift", "per step", "mean distance that a key moves in a step", 0, None),
        ("drift_max", "Largest drift", "per step", "distance of the key that moves most", 0, None),
        ("key_norm_min", "Shortest key", "", "length of the shortest key", 0, None),
        ("key_norm_mean", "Mean key length", "", "mean length of the keys", 0, None),
    )
    return [
        MeasureInfo(name=name, title=title, unit=unit, help=text, least=least, most=most)
        for name, title, unit, text, least, most in rows
    ]


def lines(config: Config) -> dict[str, Line]:
    """The lines of core/collapse.py for a run's number of experts and K."""
    experts, top_k = config.experts.num_experts, config.experts.top_k
    found = {
        "dead_share": Line(
            value=DEAD_SHARE, side="above", sentence="more than half of the experts are never selected"
        )
    }
    if experts > 2 * top_k:
        sentence = f"router collapse: {experts} experts act as fewer than {1.5 * top_k:g}"
        found["effective_experts"] = Line(value=1.5 * top_k, side="below", sentence=sentence)
    if top_k > 1:
        found["crowding"] = Line(
            value=FUSED_CROWDING, side="above", sentence="keys have fused: experts act in fixed guilds"
        )
        uniform = UNIFORM_GATES * math.log(top_k)
        found["gate_entropy"] = Line(
            value=uniform, side="above", sentence="gates are uniform: scores have no effect"
        )
    if 1 < top_k < experts:
        sentence = f"no more sets of {top_k} are in use than {experts} experts in fixed guilds would have"
        found["num_combinations"] = Line(value=experts / top_k, side="below", sentence=sentence)
    return found


def training_series(layers: Sequence[Record]) -> Series:
    """layers.jsonl: measures[name][layer][time]."""
    return _series(
        [(record["step"], record["layers"]) for record in layers if isinstance(record.get("step"), int)]
    )


def evaluation_series(metrics: Journal) -> Series:
    return _series(
        [(record["step"], record["layers"]) for record in evaluations(metrics) if record.get("layers")]
    )


def _series(times: Sequence[tuple[int, Sequence[Mapping[str, Any]]]]) -> Series:
    num_layers = max((len(layers) for _, layers in times), default=0)
    names = dict.fromkeys(name for _, layers in times for layer in layers for name in layer)
    measures = {
        name: [
            [number(layers[i].get(name)) if i < len(layers) else None for _, layers in times]
            for i in range(num_layers)
        ]
        for name in names
    }
    return Series(steps=[step for step, _ in times], measures=measures)


def failures(config: Config, metrics: Journal, layers: Sequence[Record]) -> list[Finding]:
    """The failures of a run by its last evaluation, or by its last training record if it has none."""
    measured = [record for record in evaluations(metrics) if record.get("layers")]
    trained = of_kind(metrics, "train")
    if measured:
        latest, num_tokens = measured[-1]["layers"], measured[-1].get("num_tokens")
    else:
        latest, num_tokens = layers[-1]["layers"] if layers else [], (trained or [{}])[-1].get("tokens")
    experts, top_k = config.experts.num_experts, config.experts.top_k
    routed = num_tokens if isinstance(num_tokens, int) else None
    clean = [
        {name: value for name, raw in layer.items() if (value := number(raw)) is not None} for layer in latest
    ]
    return [
        found
        for i, layer in enumerate(clean)
        for found in findings(i, layer, num_experts=experts, top_k=top_k, num_tokens=routed)
    ]


def verdict(config: Config, found: Sequence[Finding], *, measured: bool) -> str:
    """One sentence on the whole run; a warning comes before it where there is no causal mask."""
    if not config.model.causal:
        masked = config.model_copy(update={"model": config.model.model_copy(update={"causal": True})})
        return f"{READS_AHEAD.upper()}. {verdict(masked, found, measured=measured)}"
    if config.model.feed_forward != "some":
        return f"A baseline: its feed-forward block is {config.model.feed_forward}, and no keys move."
    if not measured:
        return "Nothing has been measured yet."
    if not found:
        return "Healthy: no layer has passed a threshold of collapse."
    by_kind: dict[str, list[int]] = {}
    for finding in found:
        by_kind.setdefault(finding.kind, []).append(finding.layer)
    parts = [
        f"{KINDS.get(kind, kind)} ({_where(hit, config.model.num_layers)})" for kind, hit in by_kind.items()
    ]
    return f"Failing: {'; '.join(parts)}."


def _where(layers: Sequence[int], num_layers: int) -> str:
    if len(layers) == num_layers:
        return "every layer"
    return f"layer {layers[0]}" if len(layers) == 1 else f"layers {', '.join(map(str, layers))}"
