"""Claims about the pool: how many experts, how many per token, how wide, how they are drawn, and whether they
are trained."""

from __future__ import annotations

from somelab.experiments.claims.claim import MATTERS, Claim, Test, equal, higher, lower

INIT_CAVEAT = (
    "The order is also that of the experts' output size: the rms of their mean output is smallest for "
    "sparse and largest for orthogonal, beside a residual of 1."
)


def _most_of_full(rank: int) -> Test:
    """frozen - lora is more than half of frozen - full, which is lora < (frozen + full) / 2."""
    label = f"val_loss: lora-{rank} against half of the way from frozen to full training"
    return Test(
        label, "val_loss", {f"lora-{rank}": 1.0, "base": -0.5, "full-training": -0.5}, "below", MATTERS / 2
    )


CLAIMS = (
    Claim(
        "more-experts-concentrate-use",
        "More experts at constant K concentrate usage: Gini rises (b1 to b3)",
        "report 000, series B",
        (higher("experts-x8", "experts-x2", 0.02, "gini"), higher("experts-x4", "experts-x2", 0.01, "gini")),
        "Two, four and eight times the experts of a1, as b1 to b3; with the other settings of a1, not of a4.",
    ),
    Claim(
        "more-experts-help",
        "More experts lower the loss at the same number of trained weights (b3 against b1)",
        "report 000, series B",
        (lower("experts-x8", "experts-x2"),),
        "Frozen experts only: the trained weights are equal to the last one.",
    ),
    Claim(
        "k-should-grow-with-e",
        "K should grow with the number of experts",
        "report 002, V3: 512 experts with K = 16 in place of 8",
        (
            lower("experts-x8-top-x4", "experts-x8"),
            Test(
                "val_loss: what four times K gains, with eight times the experts against without",
                "val_loss",
                {"experts-x8-top-x4": 1.0, "experts-x8": -1.0, "top-x4": -1.0, "base": 1.0},
                "below",
                MATTERS,
            ),
        ),
        "More experts per token also cost more; the second test asks whether they gain more in a larger "
        "pool.",
    ),
    Claim(
        "init-order-as-published",
        "Initialisation: sparse is better than default, and default better than orthogonal",
        "report 003, v2 and v3; report 002",
        (lower("init-sparse", "base"), lower("base", "init-orthogonal")),
        INIT_CAVEAT,
    ),
    Claim(
        "init-order-at-equal-size",
        "The same order of initialisers where their outputs have the same size",
        "report 003, v2 and v3; matched here",
        (lower("init-sparse-matched", "base"), lower("base", "init-orthogonal-matched")),
        "experts.output_gain is set from the measured rms of the mean output, so that all three have the "
        "output size of default.",
    ),
    Claim(
        "k-times-f-constant",
        "K x F constant gives equal quality: 4 x 1024 is about 2 x 1536",
        "report 004, knob guide",
        (equal("top-x2", "experts-1.5-wide"),),
        "The report's own pair, whose products are 4096 and 3072: not quite constant. The margin is 0.01 "
        "nats.",
    ),
    Claim(
        "k-times-f-exactly-constant",
        "The same with exactly equal products: 2K x F against K x 2F",
        "report 004, knob guide",
        (equal("top-x2", "experts-2-wide"),),
        "Equal FLOPs in the experts. The margin is 0.01 nats.",
    ),
    Claim(
        "lora-gains-most-of-full",
        "LoRA r = 4 to 8 on the experts gains most of what full training gains",
        "report 004, knob guide",
        (lower("full-training", "base"), _most_of_full(4), _most_of_full(8)),
        "Most: more than half. An expert that is fully trained learns from its own tokens only, and a "
        "million are few.",
    ),
)
