"""The recipe `some` (frozen experts between a trained query network and a trained mixer) against baselines,
and its parts."""

from __future__ import annotations

from somelab.experiments.claims.claim import BOTH_LENGTHS, Claim, Test, lower, no_worse

SOURCE = "this project: lab/LOG.md"
UNSEEN = (
    "Found on the first half of the training text; evaluated on validation stories that the search "
    "never used."
)
BLIND = (
    "Four times the experts; `router.gradient` off: the query network is trained through the experts' "
    "outputs, never through the selection. The load bias is on in both."
)


def three_percent_below(other: str, arm: str = "recipe") -> Test:
    return Test(
        f"bits_per_byte: {arm} - 0.97 x {other}", "bits_per_byte", {arm: 1.0, other: -0.97}, "below", 0.001
    )


CLAIMS = (
    Claim(
        "recipe-beats-v7",
        "The recipe is at least 3 % below v7's settings in bits per byte",
        SOURCE,
        (three_percent_below("v7"),),
        f"{UNSEEN} v7 trains more weights: its backbone is a third wider, and its query network is an MLP.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "recipe-beats-v7-of-equal-width",
        "The same where v7's backbone is no wider than the recipe's",
        SOURCE,
        (three_percent_below("v7-narrow"),),
        f"{UNSEEN} v7 still trains more weights: 4 D² per layer in its query network, the recipe 2 D².",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "recipe-beats-no-layer",
        "The recipe beats no feed-forward layer at all",
        SOURCE,
        (lower("recipe", "no-ffn"),),
        UNSEEN,
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "recipe-beats-equal-dense",
        "The recipe beats a dense feed-forward layer of the same trained size",
        SOURCE,
        (lower("recipe", "recipe-dense"),),
        f"{UNSEEN} Equal trained weights and tokens; the frozen experts compute more.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "recipe-gravity-pays",
        "In the recipe, keys that move beat keys that never move",
        SOURCE,
        (lower("recipe", "recipe-fixed-keys"),),
        "The load bias is on in both; `recipe-no-gravity` has neither.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "recipe-load-bias-pays",
        "In the recipe, gravity and load bias together beat neither",
        SOURCE,
        (lower("recipe", "recipe-no-gravity"),),
        "See the entry on moving keys for which of the two does it.",
    ),
    Claim(
        "recipe-gravity-pays-without-gradient",
        "Where no gradient reaches the selection, keys that move beat keys that never move",
        SOURCE,
        (lower("recipe-blind-fast-keys", "recipe-blind-fixed-keys"),),
        f"{BLIND} The rate, 0.03, was the better of two (0.1 the other) on the text of the search.",
    ),
    Claim(
        "recipe-slower-gravity-pays-without-gradient",
        "The same with keys a third as fast",
        SOURCE,
        (lower("recipe-blind", "recipe-blind-fixed-keys"),),
        BLIND,
    ),
    Claim(
        "recipe-wants-slow-keys",
        "Keys ten times as fast are harmful where a query network is trained",
        SOURCE,
        (lower("recipe", "recipe-fast-keys"),),
        "Two rates only, 0.001 and 0.01.",
    ),
    Claim(
        "recipe-tamed-gravity-beats-published",
        "Slow keys with winner-only attraction and a load bias beat v4's rules and rates",
        SOURCE,
        (lower("recipe", "recipe-published-gravity"),),
        "v4's rules are attraction by all selected experts, peer-pull and decay, without a load bias.",
    ),
    Claim(
        "recipe-centring-pays",
        "Centred queries pay",
        SOURCE,
        (lower("recipe", "recipe-uncentred"),),
        "The load bias is on in both and has some of the effect of centring.",
    ),
    Claim(
        "recipe-routing-pays",
        "Choosing among frozen experts beats one frozen expert of the same active and trained size",
        SOURCE,
        (lower("recipe", "recipe-one-expert"),),
        "The one expert is as wide as all selected experts of a token in the recipe together.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "recipe-more-experts-help",
        "Four times the frozen experts help at the same trained size",
        SOURCE,
        (lower("recipe-experts-x4", "recipe"),),
        "K stays, so that a token costs the same; a short run may not benefit from more experts.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "recipe-view-pays",
        "Experts with the query as input beat experts with the token as input",
        SOURCE,
        (lower("recipe", "recipe-reads-token"),),
        "The same trained weights; only the experts' input differs.",
    ),
    Claim(
        "recipe-mixer-pays",
        "The trained mixer after the experts helps",
        SOURCE,
        (lower("recipe", "recipe-no-mixer"),),
        "Without it the layer trains half as many weights.",
    ),
    Claim(
        "recipe-sharp-gates-pay",
        "A learned temperature from 0.1 beats gates at temperature 1",
        SOURCE,
        (lower("recipe", "recipe-soft-gates"),),
        "The temperature of the other arm is not trained, as in the reports.",
    ),
    Claim(
        "recipe-unit-experts-pay",
        "Experts of unit output beat experts as torch draws them",
        SOURCE,
        (lower("recipe", "recipe-default-init"),),
        "The mixer can compensate for small outputs, at some cost in time.",
    ),
    Claim(
        "recipe-needs-nothing-trained-inside",
        "Trained gains inside the pool do not help: strictly frozen experts are no worse",
        SOURCE,
        (no_worse("recipe", "recipe-gains"),),
        "Gains are a factor per hidden unit and expert; LoRA and full training are not compared here.",
    ),
)
