"""Keys that move by credit, in the recipe `some`: against keys that never move, keys by gradient, and what
the recipe has to beat. `credit-x4` and `credit-x16` have four and sixteen times the frozen experts, of which
as many are selected: the trained size is the same."""

from __future__ import annotations

from somelab.experiments.claims.adaptation import (
    BEST,
    DIRECTION,
    MEMORY,
    SHARE_OF_FORGETTING,
    SIZE,
    lower_on_new_text,
)
from somelab.experiments.claims.claim import BOTH_LENGTHS, Claim, Test, lower, no_worse
from somelab.experiments.claims.recipe import SOURCE, UNSEEN, three_percent_below

READING = (
    "The step is 0.01 for 2,048 tokens, keys stay within 0.5 of their checkpoint values, and no "
    "gradient passes through a layer."
)
MARGIN = 0.001
"""Tolerance of a bound on forgetting in nats: a tenth of what matters."""
ONE_SIZE = (
    "K stays, so that a token costs the same, and keys are not trained weights: all arms train the same."
)

CLAIMS = (
    Claim(
        "credit-pays",
        "Keys that move by credit beat keys that never move",
        SOURCE,
        (lower("credit-x4", "fixed-x4"),),
        f"{UNSEEN} Credit uses one broadcast error, which no layer's gradient has passed through. The load "
        "bias is on in both.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-beats-fewer-fixed-keys",
        "They also beat keys that never move where those do best, with a quarter of the experts",
        SOURCE,
        (lower("credit-x4", "recipe-fixed-keys"),),
        f"{UNSEEN} More keys that never move are equal or worse, so this is the harder comparison.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-pays-at-sixteen-times",
        "With sixteen times the experts too",
        SOURCE,
        (lower("credit-x16", "fixed-x16"),),
        f"{UNSEEN} The load bias is on in both.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-as-good-as-gradient",
        "Keys moved by credit are no worse than keys trained by gradient",
        SOURCE,
        (no_worse("credit-x4", "gradient-x4"),),
        "Keys by gradient are trained weights, D more per expert, at the learning rate of all others, "
        "which was not tuned for them.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-more-experts-help",
        "With credit, more frozen experts help at the same trained size: four times as many, and sixteen "
        "times",
        SOURCE,
        (lower("credit-x4", "credit"), lower("credit-x16", "credit-x4")),
        f"{UNSEEN} {ONE_SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-beats-equal-dense",
        "The recipe with credit beats a dense feed-forward layer of the same trained size",
        SOURCE,
        (lower("credit-x4", "recipe-dense"),),
        f"{UNSEEN} Equal trained weights and tokens; the frozen experts compute more.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-beats-no-layer",
        "The recipe with credit beats no feed-forward layer at all",
        SOURCE,
        (lower("credit-x4", "no-ffn"),),
        UNSEEN,
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-beats-v7",
        "The recipe with credit is at least 3 % below v7's settings in bits per byte",
        SOURCE,
        (three_percent_below("v7", "credit-x4"),),
        f"{UNSEEN} v7 trains more weights: its backbone is a third wider, and its query network is an MLP.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-adapts",
        "Reading new text with keys that move by credit lowers its loss against frozen keys",
        SOURCE,
        (lower_on_new_text("credit-x4", "active", "frozen"),),
        f"{READING} {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-adapts-by-direction",
        "The direction of movement matters: credit helps more than keys rotated as far in random directions",
        SOURCE,
        (lower_on_new_text("credit-x4", "active", "noise", DIRECTION),),
        "The same angles at the same times, key by key; the load bias and the mean query do not change. "
        f"{SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-gains-more-than-it-forgets",
        "The gain of credit on the new text is ten times its forgetting on the old",
        SOURCE,
        (
            Test(
                "credit-x4: forgetting on the old text - 0.1 x gain on the new",
                "shift_forgetting_active",
                {"credit-x4": 1.0, "credit-x4:shift_gain_active": -0.1},
                "at most",
                MARGIN,
            ),
        ),
        f"{READING} {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-forgets-a-tenth-of-fine-tuning",
        "Keys moved by credit forget a tenth at most of what fine-tuning the same model does",
        SOURCE,
        (
            Test(
                f"forgetting of credit-x4 on the old text: moved keys - {SHARE_OF_FORGETTING:g} x "
                "fine-tuning",
                "shift_forgetting_active",
                {"credit-x4": 1.0, "credit-x4:shift_forgetting_all": -SHARE_OF_FORGETTING},
                "at most",
                MARGIN,
            ),
        ),
        f"{READING} {BEST} It also gains more. {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-memory-beats-plain-cache",
        "A word memory selected by such keys gains more than a plain cache of words, which needs no routing",
        SOURCE,
        (lower_on_new_text("credit-x4", "memory", "cache"),),
        f"{MEMORY} {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "credit-memory-beats-bigram-cache",
        "It also gains more than a cache of pairs of words, which needs no routing either",
        SOURCE,
        (lower_on_new_text("credit-x4", "memory", "bigram"),),
        f"{MEMORY} The bigram cache counts which words followed the present word. {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
)
