"""Claims that the authors state in papers, reports and notebooks beside the runs that they tabulate, each
judged like all others: every arm at its own best learning rate."""

from __future__ import annotations

from somelab.experiments.claims.claim import Claim, lower

CLAIMS = (
    Claim(
        "missing-mask-reads-the-answer",
        "The first notebooks' perplexities of 1.1 to 1.5 come from a missing causal mask: without one, the "
        "loss falls far below that of a language model",
        "the first notebooks (0.4049, 1.50); the v3 paper takes it for learned language, the v4 paper names "
        "the mask",
        (lower("no-causal-mask", "base", 0.5),),
        "The loss without a mask is not that of a language model: every token sees the one that it is to "
        "predict. Half a nat is asked for; the notebooks' own figures also count padding.",
    ),
)
