"""Questions that the reports leave open: does the layer help, and does gravity?"""

from __future__ import annotations

from somelab.experiments.claims.claim import BOTH_LENGTHS, Claim, lower

SOURCE = "not in the reports"

CLAIMS = (
    Claim(
        "some-beats-no-layer",
        "The SoME layer of v4 beats no feed-forward layer at all",
        SOURCE,
        (lower("base", "no-ffn"),),
        "The layer trains a query network; a model without it has fewer trained weights.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "moving-keys-beat-fixed",
        "Keys moved by v4's gravity beat random keys that never move",
        SOURCE,
        (lower("base", "fixed-keys"),),
        "The same trained weights. A trained query network can learn to route to any keys.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "moving-keys-beat-gradient",
        "Keys moved by v4's gravity beat keys trained by gradient",
        SOURCE,
        (lower("base", "gradient-keys"),),
        "Trained keys add E x D weights per layer, less than one percent.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "some-beats-equal-dense",
        "The SoME layer of v4 beats a dense feed-forward layer of the same trained size",
        SOURCE,
        (lower("base", "dense-equal"),),
        "The width of the dense block makes the trained weights equal; it computes less than the experts do.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "published-gravity-pays-without-query-network",
        "Where no query network can learn to route, v4's gravity beats random keys",
        SOURCE,
        (lower("tokens-published-gravity", "tokens-fixed"),),
        "The query is the token itself; frozen features, one trained up-projection per layer.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "tamed-gravity-pays-without-query-network",
        "There, gravity with centred queries, winner-only attraction and a load bias beats random keys",
        SOURCE,
        (lower("tokens-tamed-gravity", "tokens-fixed"),),
        "The same trained weights; no peer-pull and no decay.",
        lengths=BOTH_LENGTHS,
    ),
)
