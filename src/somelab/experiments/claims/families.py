"""Frozen experts that cost less, in the recipe with credit: without matrices (`hadamard`), or stored as 8-bit
integers. Whether they are as good as random fp32 matrices, and what their lower cost is worth."""

from __future__ import annotations

from somelab.experiments.claims.claim import BOTH_LENGTHS, Claim, lower, no_worse
from somelab.experiments.claims.recipe import SOURCE

SIZES = "The same number, width and selection of experts, and the same trained weights."

CLAIMS = (
    Claim(
        "hadamard-as-good-as-dense",
        "Frozen experts of random signs and a Hadamard transform are no worse than random matrices",
        SOURCE,
        (no_worse("hadamard-x4", "credit-x4"),),
        SIZES,
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "int8-as-good-as-fp32",
        "Frozen experts stored and computed in 8 bits are no worse than in fp32",
        SOURCE,
        (no_worse("credit-x4-int8", "credit-x4"),),
        SIZES,
    ),
    Claim(
        "hadamard-credit-pays",
        "With Hadamard experts, keys that move by credit beat keys that never move",
        SOURCE,
        (lower("hadamard-x4", "hadamard-fixed-x4"),),
        "The load bias is on in both.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "hadamard-beats-equal-dense",
        "The recipe with Hadamard experts beats a dense feed-forward layer of the same trained size",
        SOURCE,
        (lower("hadamard-x4", "recipe-dense"),),
        "Equal trained weights and tokens.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "hadamard-more-experts-help",
        "With Hadamard experts, more of them help at the same trained size: four times as many, and sixteen "
        "times",
        SOURCE,
        (lower("hadamard-x16", "hadamard-x4"), lower("hadamard-x64", "hadamard-x16")),
        "K stays, and keys are not trained weights: all arms train the same.",
    ),
)
