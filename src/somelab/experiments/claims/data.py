"""Claims about the data: how long sequences are, with and without padding in the figure, and how large a
batch is."""

from __future__ import annotations

from somelab.experiments.claims.claim import MATTERS, Claim, Test, lower

CLAIMS = (
    Claim(
        "longer-sequences-as-published",
        "Longer sequences improve perplexity, in the reports' own figure (7.8 at 256 tokens, 1.66 at 1,024)",
        "report 003, v2 and v3",
        (lower("padded-length-x4", "padded", 0.1, "loss_with_padding"),),
        "Padding counts in this figure, and longer sequences have more of it. Equal positions per step and "
        "in total, padding included.",
    ),
    Claim(
        "longer-sequences-on-meaning",
        "The same with padding left out of the figure",
        "report 003, v2 and v3; measured without padding",
        (lower("padded-length-x4", "padded"),),
        "The same runs. Where more positions are padding, fewer real tokens are trained on; longer "
        "sequences also have more context at evaluation.",
    ),
    Claim(
        "longer-sequences-packed",
        "The same on packed text, where every position is a real token",
        "not in the reports",
        (lower("length-x4", "base"),),
        "Equal real tokens. Longer sequences hold whole stories, so that a token sees more of its story, "
        "in training as in evaluation.",
    ),
    Claim(
        "smaller-batches-help",
        "Smaller batches help",
        "report 004: 512 sequences a batch against 64",
        (lower("batch-half", "batch-double"),),
        "Half against double the batch at equal tokens: four times the optimizer steps, so not about keys "
        "alone.",
    ),
    Claim(
        "smaller-batches-help-by-key-updates",
        "They help because the keys are updated more often",
        "report 004",
        (
            Test(
                "val_loss: what smaller batches gain with moving keys against fixed ones",
                "val_loss",
                {
                    "batch-half": 1.0,
                    "batch-double": -1.0,
                    "batch-half-fixed-keys": -1.0,
                    "batch-double-fixed-keys": 1.0,
                },
                "below",
                MATTERS,
            ),
        ),
        "The gain minus that of the same batches with fixed keys.",
    ),
)
