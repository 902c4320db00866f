"""From figures to verdicts: supported, refuted or undecided by the 95 % interval of a paired contrast, or not run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from somelab.analysis.intervals import Interval, interval
from somelab.experiments.claims.claim import Claim, Test

Verdict = Literal["supported", "refuted", "undecided", "not run"]
Figures = Mapping[int, Mapping[str, float]]
"""The figures of an arm's finished runs by seed."""


@dataclass(frozen=True)
class TestResult:
    """One test with what was measured."""

    test: Test
    verdict: Verdict
    effect: Interval | None
    seeds: tuple[int, ...]
    """Those that all of its arms have finished."""

    __test__ = False


@dataclass(frozen=True)
class ClaimResult:
    """A claim at one scale."""

    claim: Claim
    scale: str
    verdict: Verdict
    tests: tuple[TestResult, ...]
    note: str = ""
    """Why it is what it is, where the tests alone do not say."""

    @property
    def num_seeds(self) -> int:
        return min(len(test.seeds) for test in self.tests)


def decide(test: Test, effect: Interval) -> Verdict:
    """The test's rule; see `Test`. One seed decides nothing: its interval is without end."""
    low, high, smallest = effect.low, effect.high, test.smallest
    match test.rule:
        case "below":
            supported, refuted = high < 0 and effect.mean <= -smallest, low > -smallest
        case "above":
            supported, refuted = low > 0 and effect.mean >= smallest, high < smallest
        case "within":
            supported, refuted = -smallest < low and high < smallest, low > smallest or high < -smallest
        case "at most":
            supported, refuted = high < smallest, low > smallest
        case "at least":
            supported, refuted = low > smallest, high < smallest
    return "supported" if supported else "refuted" if refuted else "undecided"


def judge_test(test: Test, figures: Mapping[str, Figures]) -> TestResult:
    """The contrast over the seeds that all of the test's arms have."""
    terms = [(figures.get(arm, {}), figure, weight) for arm, figure, weight in test.terms]
    seeds = tuple(seed for seed in sorted(terms[0][0]) if all(figure in arm.get(seed, {}) for arm, figure, _ in terms))
    if not seeds:
        return TestResult(test, "not run", None, ())
    values = [sum(weight * arm[seed][figure] for arm, figure, weight in terms) for seed in seeds]
    effect = interval(values)
    return TestResult(test, decide(test, effect), effect, seeds)


def judge(claim: Claim, figures: Mapping[str, Figures], scale: str) -> ClaimResult:
    """A claim's verdict from its tests': all have to hold, and one that fails refutes it, unless it was only the premise."""
    tests = tuple(judge_test(test, figures) for test in claim.tests)
    verdicts = [result.verdict for result in tests]
    premises = [result for result in tests if result.test.premise and result.verdict != "supported"]
    if "not run" in verdicts:
        return ClaimResult(claim, scale, "not run", tests)
    if premises:
        return ClaimResult(claim, scale, "undecided", tests, f"its premise is {premises[0].verdict} ({premises[0].test.says})")
    verdict: Verdict = "refuted" if "refuted" in verdicts else "undecided" if "undecided" in verdicts else "supported"
    return ClaimResult(claim, scale, verdict, tests)


def headline(results: list[ClaimResult]) -> ClaimResult:
    """Which of a claim's results at several scales speaks for it: the first that decides, else the last that was run."""
    decided = [result for result in results if result.verdict in ("supported", "refuted")]
    run = [result for result in results if result.verdict != "not run"]
    return (decided or run[-1:] or results)[0]
