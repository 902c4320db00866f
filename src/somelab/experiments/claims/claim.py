"""What a claim is: a sentence of the reports or of this project, the arms that test it, and the rule by which
an interval decides. Nothing here is a result: verdicts are computed from run folders, in
`somelab.experiments.ledger.verdict`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from somelab.experiments.claims.shell import LedgerLength

Rule = Literal["below", "above", "within", "at most", "at least"]


@dataclass(frozen=True)
class Test:
    """A weighted sum of figures of arms, paired by seed, and what its 95 % interval has to show.

    With [low, high] the interval and s the smallest effect that matters:
    below     supported where high < 0 and the mean is -s or less; refuted where low > -s
    above     the same, mirrored
    within    supported where the whole interval is between -s and s; refuted where it is wholly outside
    at most   supported where high < s; refuted where low > s
    at least  supported where low > s; refuted where high < s
    Everything else is undecided."""

    label: str
    measure: str
    """The figure that is summed, of every arm that names no other."""
    contrast: Mapping[str, float]
    """Weights by arm; `ARM:FIGURE` is another figure of an arm, so that a run can be compared with itself."""
    rule: Rule
    smallest: float
    premise: bool = False
    """Whether this is a premise of the claim: if it does not hold, the claim is undecided rather than
    refuted, and its other arms need not be run."""

    __test__ = False  # not a test case of pytest

    @property
    def terms(self) -> list[tuple[str, str, float]]:
        """What is summed: arm, figure, weight."""
        split = [(*term.partition(":"), weight) for term, weight in self.contrast.items()]
        return [(arm, figure or self.measure, weight) for arm, _, figure, weight in split]


@dataclass(frozen=True)
class Claim:
    """Supported where all of its tests are, refuted where one is, else undecided."""

    id: str
    sentence: str
    """As the reports state it, or an open question."""
    source: str
    tests: tuple[Test, ...]
    caveat: str = ""
    lengths: tuple[LedgerLength, ...] = ("short",)
    """How long its arms are trained. A claim about quality is judged at both lengths: an effect that shrinks
    with training is speed of learning."""

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that it needs, each once."""
        return _arms(self.tests)

    @property
    def premise_arms(self) -> tuple[str, ...]:
        """Those that decide whether its premise holds; the others are needed only if it does."""
        return _arms(test for test in self.tests if test.premise)

    @property
    def reads_shift(self) -> bool:
        """Whether it is about reading text of another kind than its arms were trained on."""
        return any(figure.startswith("shift_") for test in self.tests for _, figure, _ in test.terms)


def _arms(tests: Iterable[Test]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(arm for test in tests for arm, _, _ in test.terms))


BOTH_LENGTHS: tuple[LedgerLength, ...] = ("short", "long")

# Nats per token: about a quarter of a percent of the loss at micro scale, and several times less than the
# gain of a layer.
MATTERS = 0.01


def lower(arm: str, base: str, smallest: float = MATTERS, measure: str = "val_loss", label: str = "") -> Test:
    """The arm's measure is lower than the base's."""
    return Test(label or f"{measure}: {arm} - {base}", measure, {arm: 1.0, base: -1.0}, "below", smallest)


def higher(arm: str, base: str, smallest: float, measure: str = "val_loss", label: str = "") -> Test:
    """The arm's measure is higher than the base's."""
    return Test(label or f"{measure}: {arm} - {base}", measure, {arm: 1.0, base: -1.0}, "above", smallest)


def equal(arm: str, base: str, margin: float = MATTERS, measure: str = "val_loss") -> Test:
    """The two do not differ by as much as the margin."""
    return Test(f"{measure}: {arm} - {base}", measure, {arm: 1.0, base: -1.0}, "within", margin)


def no_worse(arm: str, base: str, margin: float = MATTERS, measure: str = "val_loss") -> Test:
    """The arm is not worse by as much as the margin."""
    return Test(f"{measure}: {arm} - {base}", measure, {arm: 1.0, base: -1.0}, "at most", margin)
