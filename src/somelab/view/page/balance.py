"""Balance of a run over time, the thresholds beyond which a measure means collapse, and a sentence for each
failure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from somelab.config import Config
from somelab.config.model import READS_AHEAD
from somelab.core.collapse import DEAD_SHARE, FUSED_CROWDING, UNIFORM_GATES, Finding, findings
from somelab.core.meanings import MEANINGS, SO_FAR, in_evaluation, in_training, over_usage, over_validation
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


SHOWN = tuple(name for name, meaning in MEANINGS.items() if meaning.basis != "study")
"""In the order in which a page shows them."""


def measure_info(config: Config, num_tokens: int | None = None) -> list[MeasureInfo]:
    """Every measure with its bounds in this run, and over what it was counted. `num_tokens`: of validation
    text, in the last evaluation."""
    experts, top_k = config.experts.num_experts, config.experts.top_k
    most: dict[str, float] = {
        **dict.fromkeys(("gini", "gini_mass", "dead_share", "crowding"), 1),
        **dict.fromkeys(("entropy_bits", "entropy_bits_mass"), math.log2(experts)),
        **dict.fromkeys(("effective_experts", "coverage"), experts),
        "gate_entropy": math.log(top_k),
    }
    least: dict[str, float | None] = {"crowding": None, "effective_experts": 1}
    gravity = config.gravity
    return [
        MeasureInfo(
            name=name,
            title=MEANINGS[name].title,
            unit=MEANINGS[name].unit,
            help=MEANINGS[name].text,
            least=least.get(name, 0),
            most=most.get(name),
            training=in_training(name, ema_decay=gravity.ema_decay, cumulative=gravity.usage == "cumulative"),
            evaluation=in_evaluation(name, num_tokens),
        )
        for name in SHOWN
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


class Judged(NamedTuple):
    """The record that a run is judged by."""

    layers: Sequence[Mapping[str, Any]]
    over: str
    sentence: str
    num_tokens: int | None
    """How many were routed; None: unknown."""


def judged(config: Config, metrics: Journal, layers: Sequence[Record]) -> Judged | None:
    """The last evaluation, or the last training record where there is none; None before either."""
    measured = [record for record in evaluations(metrics) if record.get("layers")]
    if measured:
        last = measured[-1]
        over = over_validation(last.get("num_tokens"))
        kind = "final evaluation" if last.get("kind") == "final" else "evaluation"
        sentence = f"Judged by the {kind} at step {last['step']:,}: {over}."
        return Judged(last["layers"], over, sentence, last.get("num_tokens"))
    if not layers:
        return None
    gravity = config.gravity
    over = over_usage(ema_decay=gravity.ema_decay, cumulative=gravity.usage == "cumulative")
    sentence = f"Not evaluated yet; judged by training at step {layers[-1]['step']:,}: usage is {over}."
    trained = of_kind(metrics, "train")
    return Judged(layers[-1]["layers"], SO_FAR, sentence, trained[-1].get("tokens") if trained else None)


def failures(config: Config, by: Judged | None) -> list[Finding]:
    """The failures of a run by the record that it is judged by."""
    if by is None:
        return []
    experts, top_k = config.experts.num_experts, config.experts.top_k
    clean = [
        {name: value for name, raw in layer.items() if (value := number(raw)) is not None}
        for layer in by.layers
    ]
    return [
        found
        for i, layer in enumerate(clean)
        for found in findings(
            i, layer, num_experts=experts, top_k=top_k, num_tokens=by.num_tokens, over=by.over
        )
    ]


def verdict(config: Config, found: Sequence[Finding], *, measured: bool) -> str:
    """One sentence on the whole run; a warning comes before it where there is no causal mask."""
    if not config.model.causal:
        masked = config.model_copy(update={"model": config.model.model_copy(update={"causal": True})})
        return f"{READS_AHEAD.upper()}. {verdict(masked, found, measured=measured)}"
    if config.model.feed_forward != "some":
        return f"A baseline: its feed-forward block is {config.model.feed_forward}, and no keys move."
    if not measured:
        return "No layer has been measured yet."
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
