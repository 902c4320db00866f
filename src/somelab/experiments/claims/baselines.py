"""Claims against the usual baselines: dense blocks of the usual width, and a learned mixture."""

from __future__ import annotations

from somelab.experiments.claims.claim import BOTH_LENGTHS, Claim, lower
from somelab.experiments.claims.recipe import SOURCE

CLAIMS = (
    Claim(
        "credit-beats-equal-dense-in-equal-time",
        "The recipe with credit beats a dense block of the same trained size that trains for the same time",
        SOURCE,
        (lower("credit-x4", "recipe-dense-as-long"),),
        "In that time the dense block trains on 1.9 times the tokens (two processor cores; other machines "
        "differ).",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-beats-usual-dense",
        "The recipe with credit beats the usual dense block, four times as wide as the model",
        SOURCE,
        (lower("credit-x4", "dense-4d"),),
        "The dense block trains four times the weights of the recipe's layer.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-beats-learned-mixture",
        "The recipe with credit beats a mixture of eight trained experts with a learned router",
        SOURCE,
        (lower("credit-x4", "moe"),),
        "The mixture trains sixteen times the weights of the recipe's layer; two experts of width 2 D are "
        "selected per token.",
    ),
)
