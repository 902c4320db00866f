"""The frontier: every kind of feed-forward block, by its loss and its cost.

Each block runs at its own best learning rate, with the same tokens in the same decoder. Costs: trained
weights, forward FLOPs of a token, bytes of a checkpoint, and time of a step. Times are ratios to the decoder
without a feed-forward block, measured in one process, interleaved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from somelab.analysis.intervals import Interval, interval
from somelab.config import Config
from somelab.experiments.claims.arms import ARMS
from somelab.experiments.claims.shell import LedgerScale
from somelab.experiments.ledger.store import Ledger

if TYPE_CHECKING:
    from somelab.experiments.runner.stepping import Stepper

Family = Literal["none", "dense", "gated", "mixture", "published", "some", "frozen", "normed"]
ShellName = Literal["published", "modern"]
ROUNDS, WARM_UP = 12, 2
STEPS = 4
"""Of an arm in a row, of which the fastest counts: the first finds the caches full of another arm's data."""


@dataclass(frozen=True)
class Block:
    """One point of the frontier."""

    arm: str
    title: str
    family: Family


def _dense(*arms: str) -> tuple[Block, ...]:
    return tuple(Block(arm, f"dense, {n} D", "dense") for arm, n in zip(arms, (1, 2, 4, 8), strict=True))


SHELLS: dict[ShellName, tuple[Block, ...]] = {
    "published": (
        Block("no-ffn", "none", "none"),
        *_dense("recipe-dense", "dense-equal", "dense-4d", "dense-8d"),
        Block("moe", "learned mixture, 8 experts of 2 D, K 2", "mixture"),
        Block("base", "published v4", "published"),
        Block("v7-narrow", "published v7", "published"),
        Block("credit", "some, E 16", "some"),
        Block("credit-x4", "some, E 64", "some"),
        Block("credit-x16", "some, E 256", "some"),
        Block("credit-x4-half-k", "some, E 64, half K", "some"),
        Block("credit-x4-double-k", "some, E 64, double K", "some"),
        Block("fixed-x4", "some, E 64, keys fixed", "some"),
        Block("hadamard-x4", "some, Hadamard, E 64", "some"),
        Block("hadamard-x4-double-k", "some, Hadamard, E 64, double K", "some"),
        Block("hadamard-x4-wide", "some, Hadamard, E 64, four blocks wide", "some"),
        Block("hadamard-x64", "some, Hadamard, E 1,024", "some"),
    ),
    "modern": (
        Block("modern-no-ffn", "none", "none"),
        *_dense(*(f"modern-dense-{n}d" for n in (1, 2, 4, 8))),
        Block("modern-dense-1d-normed", "dense, 1 D, normalised before GELU", "normed"),
        Block("modern-dense-4d-normed", "dense, 4 D, normalised before GELU", "normed"),
        Block("modern-swiglu", "dense, SwiGLU, as many weights as 1 D", "gated"),
        Block("modern-moe", "learned mixture, 8 experts of 2 D, K 2", "mixture"),
        Block("modern-base", "published v4", "published"),
        Block("modern-credit-x4", "some, E 64", "some"),
        Block("modern-fixed-x4", "some, E 64, keys fixed", "some"),
        Block("modern-hadamard-x4", "some, Hadamard, E 64", "some"),
        Block("modern-hadamard-one-expert", "one frozen expert, Hadamard, four blocks wide", "frozen"),
        Block("modern-hadamard-one-block", "one frozen expert, Hadamard", "frozen"),
        Block("modern-hadamard-x4-double-k", "some, Hadamard, E 64, double K", "some"),
        Block("modern-hadamard-x16", "some, Hadamard, E 256", "some"),
        Block("modern-modulated", "some, modulated, E 64, double K", "some"),
        Block("modern-modulated-fixed", "some, modulated, E 64, double K, keys fixed", "some"),
        Block("modern-modulated-more", "some, modulated, E 256, double K", "some"),
        Block("modern-modulated-half-k", "some, modulated, E 64", "some"),
    ),
}
"""E and K of the titles are those of micro; a larger scale has more of both."""
OF_THE_PRESET: dict[ShellName, str] = {"published": "credit-x4", "modern": "modern-modulated"}
"""The arm with the experts and rules that are recommended in a backbone: the one to compare, since the best
of many variants is also the luckiest."""
TRAINED: tuple[Family, ...] = ("none", "dense", "gated", "mixture", "normed")
"""Blocks without frozen experts."""


def arms() -> list[str]:
    """All arms of the frontier."""
    return [block.arm for blocks in SHELLS.values() for block in blocks]


@dataclass(frozen=True)
class Point:
    """A block with what was measured."""

    block: Block
    shell: ShellName
    rate: float
    loss: Interval
    trained: int
    flops: int
    checkpoint_bytes: int
    step_time: float | None
    """Of a step, relative to the decoder without a feed-forward block; None if not measured."""

    def record(self) -> dict[str, Any]:
        return {
            "shell": self.shell,
            "block": self.block.title,
            "family": self.block.family,
            "arm": self.block.arm,
            "rate": self.rate,
            "loss": self.loss.mean,
            "low": self.loss.low,
            "high": self.loss.high,
            "seeds": self.loss.num,
            "trained": self.trained,
            "flops": self.flops,
            "checkpoint_bytes": self.checkpoint_bytes,
            "step_time": self.step_time,
        }


def points(ledger: Ledger, times: Mapping[str, float]) -> list[Point]:
    """Every block that is tuned and has run with two seeds or more. `times`: by arm."""
    from somelab.model.count import count_parameters

    found: list[Point] = []
    for shell, blocks in SHELLS.items():
        for block in blocks:
            rate, figures = ledger.rates.rate(block.arm), ledger.figures(block.arm)
            if rate is None or len(figures) < 2:
                continue
            one = next(iter(figures.values()))
            losses = interval([run["val_loss"] for run in figures.values()])
            config = ledger.jobs[block.arm, ledger.seeds[0]].config
            flops, stored = count_parameters(config).flops_per_token, int(one["checkpoint_bytes"])
            time = times.get(block.arm)
            found.append(Point(block, shell, rate, losses, int(one["trainable"]), flops, stored, time))
    return found


def measure_times(
    scale: LedgerScale,
    data: str,
    say: Callable[[str], None] | None = None,
    names: Sequence[str] | None = None,
) -> dict[str, float]:
    """CPU time of a training step of each arm, relative to its decoder without a feed-forward block: the
    median over rounds of the ratio within a round, so that slow changes of the machine's speed cancel. Every
    round visits all arms in a random order."""
    from somelab.experiments.runner.stepping import Stepper
    from somelab.native import load

    load()

    def config(arm: str) -> Config:
        return ARMS[arm].config(scale, data)

    ratios: dict[str, float] = {}
    for blocks in SHELLS.values():
        wanted = [block.arm for block in blocks if names is None or block.arm in names]
        steppers = {arm: Stepper(config(arm)) for arm in wanted}
        rounds = [_seconds_of_round(steppers, Random(number)) for number in range(WARM_UP + ROUNDS)]
        base = blocks[0].arm
        ratios.update(
            {arm: round(median(taken[arm] / taken[base] for taken in rounds[WARM_UP:]), 3) for arm in wanted}
        )
        if say is not None:
            say(", ".join(f"{arm} {ratios[arm]:.2f}" for arm in wanted))
    return ratios


def _seconds_of_round(steppers: Mapping[str, Stepper], order: Random) -> dict[str, float]:
    """The fastest of a few steps of each arm."""
    names = order.sample(list(steppers), len(steppers))
    return {name: min(steppers[name].cpu_seconds(gravity=True) for _ in range(STEPS)) for name in names}
