"""Claims in the modern backbone (pre-norm, RMSNorm, RoPE, tied head, no biases), where feed-forward blocks
matter more than in the published one."""

from __future__ import annotations

from somelab.experiments.claims.claim import BOTH_LENGTHS, Claim, lower, no_worse
from somelab.experiments.claims.recipe import SOURCE

EQUAL = "Equal trained weights and tokens; the frozen experts compute more."
FROM_BACKWARD = "With credit from backward, keys move along the normalised gradient of the loss."
AT_256 = "Embedding and head have four times the learning rate of the rest, which is best for both arms."

CLAIMS = (
    Claim(
        "modern-dense-beats-none",
        "In the modern backbone, a dense block as wide as the model beats no feed-forward layer",
        SOURCE,
        (lower("modern-dense-1d", "modern-no-ffn"),),
        "A check of the comparison itself: where no block helps, none can be told from another.",
    ),
    Claim(
        "modern-layer-beats-none",
        "In the modern backbone, v4's SoME layer beats no feed-forward layer",
        SOURCE,
        (lower("modern-base", "modern-no-ffn"),),
        "The layer trains a query network; a model without it has fewer trained weights.",
    ),
    Claim(
        "modern-credit-beats-equal-dense",
        "In the modern backbone, the recipe with credit beats a dense block of the same trained size",
        SOURCE,
        (lower("modern-credit-x4", "modern-dense-1d"),),
        EQUAL,
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modern-credit-pays",
        "In the modern backbone, keys that move by credit beat keys that never move",
        SOURCE,
        (lower("modern-credit-x4", "modern-fixed-x4"),),
        "The load bias is on in both.",
    ),
    Claim(
        "modern-hadamard-beats-equal-dense",
        "In the modern backbone, the recipe with Hadamard experts beats a dense block of the same trained "
        "size",
        SOURCE,
        (lower("modern-hadamard-x4", "modern-dense-1d"),),
        EQUAL,
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modern-hadamard-beats-equal-dense-in-equal-time",
        "In the modern backbone, the recipe with Hadamard experts beats a dense block of the same trained "
        "size that trains for the same time",
        SOURCE,
        (lower("modern-hadamard-x4", "modern-dense-1d-as-long"),),
        "In that time the dense block trains on 1.25 times the tokens (one processor core; other machines "
        "differ).",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modern-hadamard-beats-wider-dense",
        "In the modern backbone, the recipe with Hadamard experts beats a dense block of twice the trained "
        "size",
        SOURCE,
        (lower("modern-hadamard-x4", "modern-dense-2d"),),
        "Equal tokens.",
    ),
    Claim(
        "modern-hadamard-beats-usual-dense",
        "In the modern backbone, the recipe with Hadamard experts beats the usual dense block, four times as "
        "wide as the model",
        SOURCE,
        (lower("modern-hadamard-x4", "modern-dense-4d"),),
        "The dense block trains four times the weights; a step of both takes about the same time.",
    ),
    Claim(
        "modern-hadamard-credit-pays",
        "In the modern backbone with Hadamard experts, keys that move by credit beat keys that never move",
        SOURCE,
        (lower("modern-hadamard-x4", "modern-hadamard-fixed-x4"),),
        "The load bias is on in both.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modern-hadamard-routing-pays",
        "In the modern backbone, routing among Hadamard experts beats a single one that computes as much",
        SOURCE,
        (lower("modern-hadamard-x4", "modern-hadamard-one-expert"),),
        "The single expert has as many frozen features as the K selected ones together, and the same trained "
        "weights around it.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modern-one-block-beats-equal-dense",
        "In the modern backbone, one frozen Hadamard block between two trained matrices beats a dense block "
        "of the same trained size",
        SOURCE,
        (lower("modern-hadamard-one-block", "modern-dense-1d"),),
        "No routing: both map D to D, apply GELU and map back; here a frozen transform of the normalised "
        "features stands before GELU.",
    ),
    Claim(
        "modern-one-block-beats-normed-dense",
        "In the modern backbone, one frozen Hadamard block beats a dense block of the same trained size "
        "whose hidden features are normalised too",
        SOURCE,
        (lower("modern-hadamard-one-block", "modern-dense-1d-normed"),),
        "Both normalise what a trained matrix returns to rms 1; the frozen transform is all that differs.",
    ),
    Claim(
        "modern-hadamard-beats-normed-dense",
        "In the modern backbone, the recipe with Hadamard experts beats a dense block of the same trained "
        "size whose hidden features are normalised too",
        SOURCE,
        (lower("modern-hadamard-x4", "modern-dense-1d-normed"),),
        EQUAL,
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modern-one-expert-beats-usual-dense",
        "In the modern backbone, one frozen Hadamard expert of four blocks beats the usual dense block, four "
        "times as wide as the model",
        SOURCE,
        (lower("modern-hadamard-one-expert", "modern-dense-4d"),),
        "No routing. The dense block trains four times the weights.",
    ),
    Claim(
        "modern-hadamard-larger-k-helps",
        "In the modern backbone, twice as many Hadamard experts per token help at the same trained size",
        SOURCE,
        (lower("modern-hadamard-x4-double-k", "modern-hadamard-x4"),),
        "Eight of 64 experts in place of four.",
    ),
    Claim(
        "modern-hadamard-more-experts-help",
        "In the modern backbone, four times as many Hadamard experts help at the same trained size",
        SOURCE,
        (lower("modern-hadamard-x16", "modern-hadamard-x4"),),
        "K stays, and keys are not trained weights: both arms train the same.",
    ),
    Claim(
        "modulated-beats-equal-dense",
        "In the modern backbone, experts that share their units beat a dense block of the same trained size",
        SOURCE,
        (lower("modern-modulated", "modern-dense-1d"),),
        EQUAL,
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modulated-beats-normed-dense",
        "In the modern backbone, experts that share their units beat a dense block of the same trained size "
        "whose hidden features are normalised too",
        SOURCE,
        (lower("modern-modulated", "modern-dense-1d-normed"),),
        EQUAL,
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modulated-beats-swiglu",
        "In the modern backbone, experts that share their units beat a SwiGLU block of the same trained size",
        SOURCE,
        (lower("modern-modulated", "modern-swiglu"),),
        "The gates of SwiGLU are trained; those of the experts' units are random and selected.",
    ),
    Claim(
        "modulated-beats-equal-dense-in-equal-time",
        "In the modern backbone, experts that share their units beat a dense block of the same trained size "
        "that trains for the same time",
        SOURCE,
        (lower("modern-modulated", "modern-dense-1d-as-long"),),
        "In that time the dense block trains on 1.25 times the tokens (one processor core; other machines "
        "differ).",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modulated-beats-normed-dense-in-equal-time",
        "In the modern backbone, experts that share their units beat a dense block of the same trained size "
        "whose hidden features are normalised too, and that trains for the same time",
        SOURCE,
        (lower("modern-modulated", "modern-dense-1d-normed-as-long"),),
        "In that time the dense block trains on 1.2 times the tokens (one processor core; other machines "
        "differ).",
    ),
    Claim(
        "modulated-beats-usual-dense",
        "In the modern backbone, experts that share their units beat the usual dense block, four times as "
        "wide as the model",
        SOURCE,
        (lower("modern-modulated", "modern-dense-4d"),),
        "The dense block trains four times the weights.",
    ),
    Claim(
        "modulated-beats-usual-normed-dense",
        "In the modern backbone, experts that share their units beat the usual dense block, four times as "
        "wide as the model, whose hidden features are normalised too",
        SOURCE,
        (lower("modern-modulated", "modern-dense-4d-normed"),),
        "The dense block trains four times the weights; a step of both takes about the same time.",
    ),
    Claim(
        "modulated-beats-learned-mixture",
        "In the modern backbone, experts that share their units beat a mixture of eight trained experts with "
        "a learned router",
        SOURCE,
        (lower("modern-modulated", "modern-moe"),),
        "The mixture trains 2.8 times the weights of the whole model.",
    ),
    Claim(
        "modulated-beats-hadamard",
        "In the modern backbone, experts that share their units beat Hadamard experts, which do not",
        SOURCE,
        (lower("modern-modulated", "modern-hadamard-x4"),),
        "Equal trained weights and experts; eight per token in place of four, in the same time of a step.",
    ),
    Claim(
        "modulated-routing-pays",
        "In the modern backbone, selecting among experts that share their units beats using all units",
        SOURCE,
        (lower("modern-modulated", "modern-hadamard-one-block"),),
        "Without routing the block is one frozen transform of the same width between the same trained "
        "matrices.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modulated-credit-pays",
        "In the modern backbone with experts that share their units, keys that move by credit beat keys that "
        "never move",
        SOURCE,
        (lower("modern-modulated", "modern-modulated-fixed"),),
        "The load bias is on in both.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modulated-credit-beats-fewer-fixed-keys",
        "In the modern backbone with experts that share their units, keys that move by credit also beat a "
        "quarter as many keys that never move",
        SOURCE,
        (lower("modern-modulated", "modern-modulated-fewer-fixed"),),
        "In the published backbone 16 keys that never move do better than 64, so the larger pool alone is a "
        "weak baseline for credit.",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "modulated-credit-beats-gradient",
        "In the modern backbone with experts that share their units, keys that move by credit beat keys "
        "trained by gradient",
        SOURCE,
        (lower("modern-modulated", "modern-modulated-gradient"),),
        "Keys trained by gradient are E x D more trained weights per layer.",
    ),
    Claim(
        "modulated-credit-from-backward-is-as-good",
        "In the modern backbone with experts that share their units, credit from each layer's own gradient "
        "is as good as credit from one error for all layers",
        SOURCE,
        (no_worse("modern-modulated-backward", "modern-modulated"),),
        f"{FROM_BACKWARD} Backward computes it anyway, so a step takes less time.",
    ),
    Claim(
        "modulated-more-experts-help",
        "In the modern backbone, more experts that share their units help at the same trained size: 64 in "
        "place of 16, and 256",
        SOURCE,
        (
            lower("modern-modulated", "modern-modulated-fewer"),
            lower("modern-modulated-more", "modern-modulated"),
        ),
        "K stays, and keys are not trained weights: all arms train the same.",
    ),
    Claim(
        "modulated-larger-k-helps",
        "In the modern backbone, twice as many experts per token help where experts share their units",
        SOURCE,
        (lower("modern-modulated", "modern-modulated-half-k"),),
        "Eight of 64 experts in place of four.",
    ),
    Claim(
        "wide-modulated-beats-normed-dense-in-equal-time",
        "At a width of 256, experts that share their units beat a dense block of the same trained size whose "
        "hidden features are normalised too, and that trains for the same time",
        SOURCE,
        (lower("modern-wide-modulated", "modern-wide-dense-normed-as-long"),),
        "In that time the dense block trains on 1.1 times the tokens (one processor core; other machines "
        f"differ). {AT_256} {FROM_BACKWARD}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "wide-modulated-beats-usual-normed-dense",
        "At a width of 256, experts that share their units beat the usual dense block, four times as wide as "
        "the model, whose hidden features are normalised too",
        SOURCE,
        (lower("modern-wide-modulated", "modern-wide-dense-4d-normed"),),
        f"The dense block trains four times the weights, and its step takes longer. {AT_256} {FROM_BACKWARD}",
        lengths=BOTH_LENGTHS,
    ),
    Claim(
        "wide-modulated-routing-pays",
        "At a width of 256, selecting among experts that share their units beats using all units",
        SOURCE,
        (lower("modern-wide-modulated", "modern-wide-one-block"),),
        "Without routing the block is one frozen transform of the same width between the same trained "
        f"matrices. {AT_256}",
        lengths=BOTH_LENGTHS,
    ),
)
