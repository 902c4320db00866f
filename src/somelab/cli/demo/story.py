"""The end of the demo: a text, what was learned and how it compares, in sentences that follow from the
numbers, whichever model is ahead."""

from __future__ import annotations

import math
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from somelab.cli.demo.pair import Learner

PROMPT = "A recipe for"
NEW_TOKENS = 120
LEVEL = 0.02
"""Nats per token below which one run each does not tell two models apart."""
LEAST_TEXT = 40


@dataclass(frozen=True)
class Result:
    """A trained model in figures."""

    val_loss: float
    tokens: int
    trained_weights: int

    @classmethod
    def of(cls, learner: Learner, facts: dict[str, Any]) -> Result:
        assert learner.evaluation is not None
        return cls(
            learner.evaluation["val_loss"], learner.evaluation["tokens"], facts["parameters"]["trainable"]
        )


def learned(result: Result, vocab_size: int, num_experts: int) -> str:
    """What the model has learned, in one sentence."""
    return (
        f"On recipes that it has not seen, its loss fell from {math.log(vocab_size):.2f} nats per token (a "
        f"blind guess among {vocab_size:,} tokens) to {result.val_loss:.2f} (as good as a choice among "
        f"{math.exp(result.val_loss):.1f}), although its {num_experts} experts are random and none of their "
        "weights was trained."
    )


def compared(some: Result, dense: Result) -> str:
    """Who is ahead at equal time, and by how much."""
    # Of the figures as they are printed, so that whoever subtracts them gets the same.
    ahead = round(dense.val_loss, 2) - round(some.val_loss, 2)
    more = dense.tokens / max(1, some.tokens)
    reading = (
        f"in the same time it read {more:.1f} times as many tokens, because its steps cost less"
        if more >= 1.05
        else f"in the same time it read {more:.2f} times as many tokens"
    )
    block = f"The dense block with as many trained weights ({dense.trained_weights / 1e6:.2f} million in all)"
    if abs(ahead) < LEVEL:
        verdict = f"{block} ends level with it, at {dense.val_loss:.2f}; {reading}."
    elif ahead < 0:
        verdict = f"{block} is better, at {dense.val_loss:.2f}, {-ahead:.2f} lower; {reading}."
    else:
        verdict = f"{block} is worse, at {dense.val_loss:.2f}, {ahead:.2f} higher; {reading}."
    return f"{verdict} That is one run each; the README has comparisons over several random seeds."


def whole_sentences(text: str) -> str:
    """A text that was cut in the middle, up to its last full stop, if enough is left."""
    end = max(text.rfind(mark) for mark in ".!?")
    return text[: end + 1] if end >= LEAST_TEXT else text.rstrip()


def indented(text: str, width: int) -> str:
    """Paragraphs with a margin on both sides."""
    space = "    "
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join(
        textwrap.fill(line, max(40, min(96, width - 4)), initial_indent=space, subsequent_indent=space)
        for line in lines
    )


def next_steps(out: Path, some: Path) -> list[tuple[str, str]]:
    """Commands, each with what it shows."""
    folder, run = shlex.quote(str(out)), shlex.quote(str(some))
    return [
        (f"somelab serve {folder}", "both models in the browser, with prompts of your own"),
        (f"somelab report {run}", "a page of one model; `--maps pca,tsne,umap` draws more maps"),
        (f"somelab generate {run} --prompt '{PROMPT}' --trace", "experts of each token"),
        ("somelab play", "a model that was trained for longer, at once"),
    ]


SECOND_ACT = "Second act: how the published rules fail"


LOOK_FOR = (
    "Look for the warnings (equal gates: the scores have no effect), for experts that are never chosen "
    "(dead), and for crowding that rises towards 1 (keys that fuse). The page says which layer fails."
)


def second_act(out: Path) -> list[str]:
    """The commands of it."""
    run = shlex.quote(str(out / "v7"))
    return [
        f"somelab train v7 --scale micro --data builtin:recipe --minutes 2 --out {run}",
        f"somelab report {run} -o {shlex.quote(str(out / 'v7.html'))}",
    ]
