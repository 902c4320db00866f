"""Claims against the usual baselines: dense blocks of the usual width, a learned mixture, the modern
backbone."""

from __future__ import annotations

from somelab.experiments.claims.claim import BOTH_LENGTHS, Claim, lower
from somelab.experiments.claims.recipe import SOURCE

MODERN = "The modern backbone: pre-norm, RMSNorm, RoPE, tied head, no biases."

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
    Claim(
        "modern-layer-beats-none",
        "In the modern backbone, v4's SoME layer beats no feed-forward layer",
        SOURCE,
        (lower("modern-base", "modern-no-ffn"),),
        MODERN,
    ),
    Claim(
        "modern-credit-beats-equal-dense",
        "In the modern backbone, the recipe with credit beats a dense block of the same trained size",
        SOURCE,
        (lower("modern-credit-x4", "modern-dense-1d"),),
        f"{MODERN} Equal trained weights and tokens; the frozen experts compute more.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modern-credit-pays",
        "In the modern backbone, keys that move by credit beat keys that never move",
        SOURCE,
        (lower("modern-credit-x4", "modern-fixed-x4"),),
        MODERN,
    ),
)
