"""Keys that move by credit, in the recipe `some`: against keys that never move, keys by gradient, and what the recipe has to beat.
`credit-x4` and `credit-x16` have four and sixteen times the frozen experts, of which as many answer: the trained size is one."""

from __future__ import annotations

from somelab.experiments.claims.claim import Claim, lower, no_worse
from somelab.experiments.claims.recipe import SOURCE, UNSEEN, three_percent_below

ONE_SIZE = "K stays, so that a token costs the same, and keys are not trained weights: all arms train the same."

CLAIMS = (
    Claim(
        "credit-pays",
        "Keys that move by credit beat keys that never move",
        SOURCE,
        (lower("credit-x4", "fixed-x4"),),
        f"{UNSEEN} Credit reads one broadcast error, which no layer's gradient has passed through. The load bias works in both.",
    ),
    Claim(
        "credit-pays-at-sixteen-times",
        "With sixteen times the experts too",
        SOURCE,
        (lower("credit-x16", "fixed-x16"),),
        f"{UNSEEN} The load bias works in both.",
    ),
    Claim(
        "credit-as-good-as-gradient",
        "Keys moved by credit are no worse than keys trained by gradient",
        SOURCE,
        (no_worse("credit-x4", "gradient-x4"),),
        "Keys by gradient are trained weights, D more an expert, at the learning rate of all others, which was not tuned for them.",
    ),
    Claim(
        "credit-more-experts-help",
        "With credit, more frozen experts help at the same trained size: four times as many, and sixteen times",
        SOURCE,
        (lower("credit-x4", "credit"), lower("credit-x16", "credit-x4")),
        f"{UNSEEN} {ONE_SIZE}",
    ),
    Claim(
        "credit-beats-equal-dense",
        "The recipe with credit beats a dense feed-forward layer of the same trained size",
        SOURCE,
        (lower("credit-x4", "recipe-dense"),),
        f"{UNSEEN} Equal trained weights and tokens; the frozen experts compute more.",
    ),
    Claim(
        "credit-beats-no-layer",
        "The recipe with credit beats no feed-forward layer at all",
        SOURCE,
        (lower("credit-x4", "no-ffn"),),
        UNSEEN,
    ),
    Claim(
        "credit-beats-v7",
        "The recipe with credit is at least 3 % below v7's settings in bits per byte",
        SOURCE,
        (three_percent_below("v7", "credit-x4"),),
        f"{UNSEEN} v7 trains more weights: its backbone is a third wider, and its query network is an MLP.",
    ),
)
