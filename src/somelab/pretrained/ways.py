"""The ways to choose groups that `somelab carve` compares. Without torch, so that the command can check its
arguments at once."""

WAYS = {
    "hindsight": "the groups whose outputs turned out largest",
    "gates": "each neuron by its own gate; all gates are read",
    "keys": "keys set without a gradient, then moved by credit",
    "keys whitened": "the same with inputs whitened by their covariance",
    "keys unmoved": "the same keys before they moved",
    "ridge": "ridge regression of the outputs' lengths on the input",
    "static": "the same, most important groups for every token",
    "random": "random groups for each token",
    "pruned activation": "the same, most active neurons for every token",
    "pruned weights": "the same neurons, those with the largest weights",
}

BY_GATES = ("hindsight", "gates", "random", "pruned activation", "pruned weights")
"""Those that apply where every neuron is a group of its own; `static` is then the same as pruning."""

WITHOUT_SEED = ("gates", "pruned activation", "pruned weights")
"""Those that do not depend on the random seed of the clusters."""


def ways_of(by_gates: bool) -> list[str]:
    """The ways that apply to such a model."""
    return list(BY_GATES) if by_gates else [way for way in WAYS if way != "gates"]
