"""When self-organization fails: the thresholds beyond which a measure means collapse, and a message for
each."""

from __future__ import annotations

import math
from typing import NamedTuple

FUSED_CROWDING = 0.95
DEAD_SHARE = 0.5
UNIFORM_GATES = 0.999
LEAST_SELECTIONS = 4
"""Per expert: with fewer, many experts are unused and few sets occur even if routing is uniform."""


class Finding(NamedTuple):
    """One failure in one layer."""

    kind: str
    layer: int
    sentence: str


def findings(
    layer: int,
    measures: dict[str, float],
    *,
    num_experts: int,
    top_k: int,
    num_tokens: int | None = None,
    over: str | None = None,
) -> list[Finding]:
    """The failures of a layer, by the measures that are given (missing ones are skipped). `num_tokens`: how
    many were routed for these measures; None: enough for the size of the pool. `over`: what was counted, in
    the words of core/meanings.py, for findings that depend on how much it was.

    Router collapse shows in the entropy of usage. Key fusion does not: E experts act as E/K while each of
    them is used, so it is detected by crowding and by the number of distinct K-sets."""
    found: list[Finding] = []
    within = f" in {over}" if over else ""

    def add(kind: str, sentence: str) -> None:
        found.append(Finding(kind, layer, f"layer {layer}: {sentence}"))

    effective = measures.get("effective_experts")
    if effective is not None and num_experts > 2 * top_k and effective < 1.5 * top_k:
        add(
            "router collapse",
            f"router collapse: {num_experts} experts act as {effective:.1f}, with {top_k} per token",
        )
    enough = num_tokens is None or num_tokens * top_k >= LEAST_SELECTIONS * num_experts
    if enough and measures.get("dead_share", 0.0) > DEAD_SHARE:
        add("dead experts", f"{measures['dead_share']:.0%} of the experts were never selected{within}")
    if top_k > 1 and measures.get("crowding", 0.0) > FUSED_CROWDING:
        sentence = (
            f"keys have fused: cosine {measures['crowding']:.3f} to the nearest {top_k - 1}; "
            "experts act in fixed guilds"
        )
        add("key fusion", sentence)
    sets = measures.get("num_combinations")
    if enough and sets is not None and 1 < top_k < num_experts and sets <= num_experts / top_k:
        add("few combinations", f"only {sets:.0f} distinct sets of {top_k} experts are in use{within}")
    entropy = measures.get("gate_entropy")
    if entropy is not None and top_k > 1 and entropy > UNIFORM_GATES * math.log(top_k):
        add(
            "uniform gates",
            f"gates are uniform ({entropy:.4f} of at most {math.log(top_k):.4f} nats): scores have no effect",
        )
    return found
