"""What a claim is: a sentence of the seeds or of this project, the arms that test it, and the rule by which an interval decides.
Nothing here is a result: verdicts are computed from run folders, in `somelab.experiments.verdict`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Rule = Literal["below", "above", "within", "at most", "at least"]


@dataclass(frozen=True)
class Test:
    """A weighted sum of figures of arms, taken seed by seed, and what its 95 % interval has to show.

    With [low, high] the interval and s the smallest effect that matters:
    below     supported where high < 0 and the mean is -s or less; refuted where low > -s
    above     the same, mirrored
    within    supported where the whole interval is between -s and s; refuted where it is wholly outside
    at most   supported where high < s; refuted where low > s
    at least  supported where low > s; refuted where high < s
    Everything else is undecided."""

    says: str
    measure: str
    """The figure that is summed, of every arm that names no other."""
    contrast: Mapping[str, float]
    """Weights by arm; `ARM:FIGURE` is another figure of an arm, so that one run can be compared with itself."""
    rule: Rule
    smallest: float
    premise: bool = False
    """Whether the claim only makes sense where this holds: if not, it is undecided rather than refuted."""

    __test__ = False  # the name is right here, and no test case of pytest

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
    """As the seeds make it, or as a question that they do not ask."""
    source: str
    tests: tuple[Test, ...]
    caveat: str = ""

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms that it needs, each once."""
        return tuple(dict.fromkeys(arm for test in self.tests for arm, _, _ in test.terms))

    @property
    def reads_shift(self) -> bool:
        """Whether it is about reading text of another kind than its arms were trained on."""
        return any(figure.startswith("shift_") for test in self.tests for _, figure, _ in test.terms)


# Nats per token: about a quarter of a percent of the loss at micro scale, and several times less than what a layer is worth.
MATTERS = 0.01


def lower(arm: str, base: str, smallest: float = MATTERS, measure: str = "val_loss", says: str = "") -> Test:
    """The arm's measure is lower than the base's."""
    return Test(says or f"{measure}: {arm} - {base}", measure, {arm: 1.0, base: -1.0}, "below", smallest)


def higher(arm: str, base: str, smallest: float, measure: str = "val_loss", says: str = "") -> Test:
    """The arm's measure is higher than the base's."""
    return Test(says or f"{measure}: {arm} - {base}", measure, {arm: 1.0, base: -1.0}, "above", smallest)


def equal(arm: str, base: str, margin: float = MATTERS, measure: str = "val_loss") -> Test:
    """The two do not differ by as much as the margin."""
    return Test(f"{measure}: {arm} - {base}", measure, {arm: 1.0, base: -1.0}, "within", margin)


def no_worse(arm: str, base: str, margin: float = MATTERS, measure: str = "val_loss") -> Test:
    """The arm is not worse by as much as the margin."""
    return Test(f"{measure}: {arm} - {base}", measure, {arm: 1.0, base: -1.0}, "at most", margin)
