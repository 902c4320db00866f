"""The ways to choose groups that `somelab carve` compares. Without torch, so that the command can check its
arguments at once."""

WAYS = {
    "hindsight": "the groups whose outputs turned out largest",
    "keys": "keys set without a gradient, then moved by credit",
    "keys unmoved": "the same keys before they moved",
    "ridge": "ridge regression of the outputs' lengths on the input",
    "static": "the same, most important groups for every token",
    "random": "random groups for each token",
    "pruned activation": "the same, most active neurons for every token",
    "pruned weights": "the same neurons, those with the largest weights",
}
