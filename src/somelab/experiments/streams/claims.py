"""Claims about continual learning, judged by the rules of the ledger from the figures of two studies: the
built-in kinds of text, and three real texts. Their arms are learners, named STREAM/LEARNER."""

from __future__ import annotations

from somelab.data.corpus import KINDS
from somelab.experiments.claims.claim import Claim, Test, lower

TOPIC = "Growing pools"
SOURCE = "frozen experts that were trained; not in the reports"
STREAMS = {"builtin": " > ".join(KINDS), "real": "tinystories-train > wikitext2-valid-test > verse"}
"""The experiences of each stream, as a study's title has them."""
FRESH, LARGE = "fresh", "large"
STUDIES = ("builtin", "builtin-fresh", "builtin-large", "real", "real-fresh")
"""What may be on record: the studies of the streams; with random seeds that nobody had seen when the settings
of growth were chosen (fresh); and with dense models as large as the grown one (large)."""
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


def _fresh(stream: str) -> tuple[Claim, ...]:
    """The same with fresh random seeds, at the settings and learning rates on record."""
    study = f"{stream}-{FRESH}"
    where = "the built-in stream" if stream == "builtin" else "the stream of real texts"
    grown, replay = f"{study}/{GROWN}", f"{study}/dense-replay"
    caveat = f"{CAVEAT} Settings and rates were fixed before these seeds were run."
    measure = "final_forgetting"
    return (
        Claim(
            f"grown-pool-forgets-little-{study}",
            f"With fresh random seeds, a grown pool forgets at most {MOST_FORGETTING} nats on {where}",
            SOURCE,
            (Test(f"{measure} of {GROWN}", measure, {grown: 1.0}, "at most", MOST_FORGETTING),),
            caveat,
        ),
        Claim(
            f"grown-pool-beats-dense-replay-{study}",
            f"With fresh random seeds, a grown pool ends {where} below replay of stored text",
            SOURCE,
            (lower(grown, replay, measure="average_loss", label=f"average loss: {GROWN} - dense-replay"),),
            caveat,
        ),
    )


def _large() -> tuple[Claim, ...]:
    """Against dense models of the grown one's final size."""
    return tuple(
        Claim(
            f"grown-pool-beats-{other}-builtin-{LARGE}",
            f"A grown pool ends the built-in stream at a lower average loss than {words} of a dense model as "
            "large as the grown one",
            SOURCE,
            (
                lower(
                    f"builtin/{GROWN}",
                    f"builtin-{LARGE}/{other}",
                    measure="average_loss",
                    label=f"average loss: {GROWN} - {other} of equal size",
                ),
            ),
            CAVEAT,
        )
        for other, words in ((BOUND, "joint training"), ("dense-replay", "replay of stored text"))
    )


def study_of(claim: Claim) -> str:
    """The study on record that a claim is judged by."""
    return max((study for study in STUDIES if claim.id.endswith(f"-{study}")), key=len)


def _words(learner: str) -> str:
    return {
        "dense": "fine-tuning",
        "dense-ewc": "elastic weight consolidation",
        "dense-replay": "replay of stored text",
    }[learner]


CLAIMS: dict[str, Claim] = {
    claim.id: claim
    for claims in (*map(_claims, STREAMS), *map(_fresh, STREAMS), _large())
    for claim in claims
}
