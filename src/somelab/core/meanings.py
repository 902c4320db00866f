"""What each measure means and over what it was counted, in the words that terminal and page share. The same
name can be counted over a moving average of training or over an evaluation, and then has two values."""

from __future__ import annotations

from typing import Literal, NamedTuple

Basis = Literal["usage", "ever", "tokens", "keys", "step", "so far", "study"]
"""usage: how often experts are selected, ever: whether they were selected at all, tokens: what tokens
selected, keys: where the keys are, step: what one step did, so far: since the start, study: a study of its
own after training."""


class Meaning(NamedTuple):
    title: str
    unit: str
    text: str
    """One phrase, without a capital and a full stop."""
    basis: Basis


MEANINGS: dict[str, Meaning] = {
    "gini": Meaning(
        "Gini of usage",
        "",
        "inequality of usage: 0 if all experts are used equally, near 1 if one has all usage",
        "usage",
    ),
    "gini_mass": Meaning("Gini of gate mass", "", "the same, by gate mass", "usage"),
    "entropy_bits": Meaning(
        "Entropy of usage", "bits", "spread of usage over the experts; at most log2 E", "usage"
    ),
    "entropy_bits_mass": Meaning("Entropy of gate mass", "bits", "the same, by gate mass", "usage"),
    "effective_experts": Meaning(
        "Effective experts", "", "how many equally used experts would have this entropy", "usage"
    ),
    "coverage": Meaning("Coverage", "experts", "experts that were selected at least once", "ever"),
    "dead_share": Meaning("Dead share", "", "share of the experts that were never selected", "ever"),
    "respawns": Meaning("Respawns", "", "keys that were respawned", "so far"),
    "gate_entropy": Meaning(
        "Gate entropy", "nats", "how evenly a token's gates weight its K experts; at most ln K", "tokens"
    ),
    "crowding": Meaning(
        "Crowding", "", "mean cosine of each key to its K-1 nearest; near 1 they have fused", "keys"
    ),
    "combination_entropy_bits": Meaning(
        "Combination entropy",
        "bits",
        "spread over the distinct sets of K experts in use; log2(E/K) if experts act in fixed groups",
        "tokens",
    ),
    "num_combinations": Meaning("Combinations", "sets", "distinct sets of K experts in use", "tokens"),
    "drift": Meaning("Drift", "per step", "mean distance that a key moves in a step", "step"),
    "drift_max": Meaning("Largest drift", "per step", "distance of the key that moves most", "step"),
    "key_norm_min": Meaning("Shortest key", "", "length of the shortest key", "keys"),
    "key_norm_mean": Meaning("Mean key length", "", "mean length of the keys", "keys"),
    "nmi": Meaning(
        "NMI",
        "",
        "normalised mutual information of a token's guild and its word class: 0 if the guild tells nothing "
        "about the class, 1 if it tells the class",
        "study",
    ),
    "modularity": Meaning(
        "Modularity",
        "",
        "how much more often experts are selected with members of their own guild than by chance: 0 for "
        "chance, towards 1 for separate guilds",
        "study",
    ),
    "lift": Meaning(
        "Lift", "", "how many times more often than chance a word's tokens are routed there", "study"
    ),
}


SO_FAR = "training so far"
"""What the measures of a training step were counted over."""


def over_validation(num_tokens: int | None) -> str:
    """What an evaluation counts over."""
    return "validation text" if num_tokens is None else f"{num_tokens:,} tokens of validation text"


def over_usage(*, ema_decay: float, cumulative: bool = False) -> str:
    """What the usage of training counts over."""
    if cumulative:
        return "all training steps so far"
    return f"a moving average over about the last {max(1, round(1 / (1 - ema_decay)))} training steps"


def in_training(name: str, *, ema_decay: float, cumulative: bool = False) -> str:
    """Over what a measure of the training record (layers.jsonl) was counted."""
    basis = MEANINGS[name].basis
    if basis == "usage":
        return over_usage(ema_decay=ema_decay, cumulative=cumulative)
    return {
        "ever": "all training steps since the start or the key's last respawn",
        "tokens": "the tokens of one training step",
        "keys": "the keys at that step",
        "step": "one training step",
        "so far": "all training steps so far",
        "study": "",
    }[basis]


def in_evaluation(name: str, num_tokens: int | None) -> str:
    """Over what a measure of an evaluation was counted; empty for what evaluations do not measure."""
    basis = MEANINGS[name].basis
    if basis == "keys":
        return "the keys at that step"
    return "" if basis in ("step", "so far", "study") else over_validation(num_tokens)
