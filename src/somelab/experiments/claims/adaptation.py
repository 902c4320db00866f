"""Claims about adaptation: test-time adaptation of a trained run to text of another kind, by keys, a word
memory, or weights. The figures are those of the probe `domain-shift`; `base`, `fixed-keys` and the dense arm
train as many weights."""

from __future__ import annotations

from somelab.experiments.claims.claim import BOTH_LENGTHS, MATTERS, Claim, Test

SOURCE = "the purpose of SoME: moving keys instead of retraining; not measured in the reports"
DIRECTION = 0.001
"""Nats by which moved keys have to beat keys rotated as far in random directions. A tenth of what matters:
the question is whether the direction matters at all, not how much."""
SHARE_OF_GAIN, SHARE_OF_FORGETTING = 0.5, 0.1
LEAST_GAIN, LEAST_FORGETTING = 0.1, 0.05
"""Nats that fine-tuning has to gain or forget, for a share of it to be a bar."""
SIZE = "One text and 40,000 tokens of it, updates after every 2,048; small models."
BEST = (
    "Fine-tuning is one AdamW step per interval, at the one of three rates (6e-4, 2e-3, 6e-3) with the "
    "lowest loss on the new text, per run."
)
MEMORY = (
    "Words that followed the tokens of each expert of the first layer are counted and mixed into the "
    "prediction; no gradient, and no keys move."
)
GAINS = Test(
    "gain of dense fine-tuning on the new text",
    "shift_gain_all",
    {"dense-equal": 1.0},
    "at least",
    LEAST_GAIN,
    premise=True,
)


def lower_on_new_text(arm: str, way: str, other: str, smallest: float = MATTERS) -> Test:
    """One way of reading the new text ends lower than another, of the same run."""
    contrast = {arm: 1.0, f"{arm}:shift_loss_{other}": -1.0}
    return Test(
        f"loss on the new text of {arm}: {way} - {other}", f"shift_loss_{way}", contrast, "below", smallest
    )


def _half_of_tuning(way: str) -> tuple[Test, Test]:
    contrast = {"base": 1.0, "dense-equal:shift_gain_all": -SHARE_OF_GAIN}
    label = f"gain on the new text: {way} of base - {SHARE_OF_GAIN:g} x fine-tuning of dense-equal"
    return GAINS, Test(label, f"shift_gain_{way}", contrast, "above", MATTERS)


def _routing_adds(arm: str, other: str) -> Test:
    """The gain of a memory per expert over one count for all measures how well routing suits it, independent
    of the model's loss."""
    label = f"gain of memory over cache: {arm} - {other}"
    return Test(label, "shift_gain_routing", {arm: 1.0, other: -1.0}, "above", MATTERS)


CLAIMS = (
    Claim(
        "keys-adapt",
        "Reading new text with keys that move lowers its loss against frozen keys",
        SOURCE,
        (lower_on_new_text("base", "active", "frozen"),),
        f"v4's own rules at the rates of training, keys within 0.5 of their checkpoint values. {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "keys-adapt-without-query-network",
        "The same where gravity alone has learned to route, which is its best case",
        SOURCE,
        (lower_on_new_text("tokens-tamed-gravity", "active", "frozen"),),
        f"Centred queries, winner-only attraction, a load bias. {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "moved-keys-beat-key-noise",
        "There, the direction of movement matters: moved keys help more than keys rotated as far in random "
        "directions",
        SOURCE,
        (lower_on_new_text("tokens-tamed-gravity", "active", "noise", DIRECTION),),
        "The same angles at the same times, key by key; the load bias and the mean query do not change. "
        f"{SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "keys-reach-half-of-fine-tuning",
        "Moving keys reaches half of what fine-tuning a dense model of the same trained size gains",
        SOURCE,
        _half_of_tuning("active"),
        f"Each gain is over the same model frozen. {BEST} {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "keys-forget-a-tenth-of-fine-tuning",
        "Moving keys forgets less than a tenth of what fine-tuning a dense model of the same trained size "
        "forgets",
        SOURCE,
        (
            Test(
                "forgetting of dense fine-tuning",
                "shift_forgetting_all_least",
                {"dense-equal": 1.0},
                "at least",
                LEAST_FORGETTING,
                True,
            ),
            Test(
                f"forgetting on the old text: moved keys of base - {SHARE_OF_FORGETTING:g} x fine-tuning of "
                "dense-equal",
                "shift_forgetting_active",
                {"base": 1.0, "dense-equal:shift_forgetting_all_least": -SHARE_OF_FORGETTING},
                "below",
                MATTERS,
            ),
        ),
        "Against the lowest of fine-tuning's rates, which forgets least and gains least. What hardly moves "
        f"a prediction forgets little: see keys-adapt for what it gains. {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "memory-reaches-half-of-fine-tuning",
        "A word memory selected by routing reaches half of fine-tuning's gain at none of its forgetting",
        SOURCE,
        (
            *_half_of_tuning("memory"),
            Test(
                "forgetting on the old text: memory of base",
                "shift_forgetting_memory",
                {"base": 1.0},
                "at most",
                MATTERS,
            ),
        ),
        f"{MEMORY} None: less than 0.01 nats. {BEST} {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "memory-by-routing-beats-plain-cache",
        "That memory gains more than a plain cache of words, which needs no routing",
        SOURCE,
        (lower_on_new_text("base", "memory", "cache"),),
        f"{MEMORY} The cache is one count for all tokens, mixed in the same way. {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "memory-by-routing-beats-bigram-cache",
        "That memory gains more than a cache of pairs of words, which needs no routing either",
        SOURCE,
        (lower_on_new_text("base", "memory", "bigram"),),
        f"{MEMORY} The bigram cache counts which words followed the present word. {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "memory-beats-dense-with-cache",
        "With it, the loss on the new text is lower than that of a dense model of the same trained size "
        "with a plain cache",
        SOURCE,
        (
            Test(
                "loss on the new text: memory of base - cache of dense-equal",
                "shift_loss_memory",
                {"base": 1.0, "dense-equal:shift_loss_cache": -1.0},
                "below",
                MATTERS,
            ),
        ),
        f"Differences of the two models before adaptation count as well. {MEMORY} {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "memory-serves-better-with-moved-keys",
        "Keys moved by v4's gravity route to that memory better than random keys that never moved",
        SOURCE,
        (_routing_adds("base", "fixed-keys"),),
        f"Both have a trained query network. {MEMORY} {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "memory-serves-better-with-moved-keys-without-query-network",
        "The same where gravity alone has learned to route",
        SOURCE,
        (_routing_adds("tokens-tamed-gravity", "tokens-fixed"),),
        f"The query is the token itself. {MEMORY} {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "router-gradient-adapts-more-than-gravity",
        "One gradient step per interval on the query networks adapts more than moving keys",
        SOURCE,
        (lower_on_new_text("base", "router", "active"),),
        f"AdamW at 1e-3, a rate that was not tuned; another may gain more. {SIZE}",
        lengths=BOTH_LENGTHS,
    ),
)
