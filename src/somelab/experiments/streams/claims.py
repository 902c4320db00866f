"""Claims about continual learning, judged by the rules of the ledger from the figures of two studies: the
built-in kinds of text, and three real texts. Their arms are learners, named STREAM/LEARNER."""

from __future__ import annotations

from somelab.data.corpus import KINDS
from somelab.experiments.claims.claim import Claim, Test, lower

TOPIC = "Growing pools"
SOURCE = "frozen experts that were trained; not in the reports"
STREAMS = {"builtin": " > ".join(KINDS), "real": "tinystories-train > wikitext2-valid-test > verse"}
"""The experiences of each stream, as a study's title has them."""
GROWN, BOUND = "some-grow", "joint"
OTHERS = ("dense", "dense-ewc", "dense-replay")
MOST_FORGETTING = 0.02
"""Nats."""
NEAR_THE_BOUND = 1.03
CAVEAT = (
    "Small models, and the tokenizer of the first text. Every learner at its own best learning rate; the "
    "strength of EWC and the share of replay are not tuned."
)


def _claims(stream: str) -> tuple[Claim, ...]:
    grown = f"{stream}/{GROWN}"
    where = "the built-in stream" if stream == "builtin" else "the stream of real texts"
    loss = "average_loss"
    return (
        Claim(
            f"grown-pool-forgets-little-{stream}",
            f"A grown pool forgets at most {MOST_FORGETTING} nats on {where}, without labels and stored text",
            SOURCE,
            (
                Test(
                    f"final forgetting of {GROWN}",
                    "final_forgetting",
                    {grown: 1.0},
                    "at most",
                    MOST_FORGETTING,
                ),
            ),
            CAVEAT,
        ),
        *(
            Claim(
                f"grown-pool-beats-{other}-{stream}",
                f"A grown pool ends {where} at a lower average loss than {_words(other)}",
                SOURCE,
                (lower(grown, f"{stream}/{other}", measure=loss, label=f"average loss: {GROWN} - {other}"),),
                CAVEAT,
            )
            for other in OTHERS
        ),
        Claim(
            f"grown-pool-near-joint-{stream}",
            f"A grown pool ends {where} within 3 % of joint training",
            SOURCE,
            (
                Test(
                    f"average loss: {GROWN} - {NEAR_THE_BOUND:g} x {BOUND}",
                    loss,
                    {grown: 1.0, f"{stream}/{BOUND}": -NEAR_THE_BOUND},
                    "at most",
                    0.0,
                ),
            ),
            CAVEAT,
        ),
    )


def _words(learner: str) -> str:
    return {
        "dense": "fine-tuning",
        "dense-ewc": "elastic weight consolidation",
        "dense-replay": "replay of stored text",
    }[learner]


CLAIMS: dict[str, Claim] = {claim.id: claim for stream in STREAMS for claim in _claims(stream)}
