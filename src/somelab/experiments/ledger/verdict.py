"""From figures to verdicts: supported, refuted or undecided by the 95 % interval of a paired contrast; not
run; or untuned, where an arm has no learning rate that a search has found inside its grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot
from typing import Literal

from somelab.analysis.intervals import Interval, interval
from somelab.analysis.noise import Noise
from somelab.experiments.claims.claim import Claim, Test
from somelab.experiments.claims.shell import LedgerLength

Verdict = Literal["supported", "refuted", "undecided", "untuned", "not run"]
Figures = Mapping[int, Mapping[str, float]]
"""The figures of an arm's finished runs by seed."""
CLOSE = 1.1
"""By about so much the common standard deviation between seeds changes when arms are added."""


@dataclass(frozen=True)
class TestResult:
    """One test with what was measured."""

    test: Test
    verdict: Verdict
    effect: Interval | None
    alone: Interval | None
    """The interval from these seeds alone, without what other arms tell of the variance between seeds."""
    seeds: tuple[int, ...]
    """Those that all of its arms have finished."""

    __test__ = False


@dataclass(frozen=True)
class ClaimResult:
    """A claim at one scale and one length of training."""

    claim: Claim
    scale: str
    verdict: Verdict
    tests: tuple[TestResult, ...]
    note: str = ""
    """The reason, where the tests alone do not show it."""
    length: LedgerLength = "short"
    rates: Mapping[str, float | None] = field(default_factory=dict[str, "float | None"])
    """The learning rate of each arm; None where it is untuned."""
    short_verdict: Verdict | None = None
    """What the short run decided, if the long one, which the claim also needs, has no verdict yet."""

    @property
    def is_close(self) -> bool:
        """Whether intervals wider or narrower by a tenth would give another verdict."""
        if self.verdict not in ("supported", "refuted", "undecided") or self.short_verdict is not None:
            return False
        return any(_combined(_stretched(self.tests, factor)) != self.verdict for factor in (CLOSE, 1 / CLOSE))

    @property
    def is_tuned(self) -> bool:
        return bool(self.rates) and None not in self.rates.values()

    @property
    def num_seeds(self) -> int:
        # Without its premise a claim has a verdict before its other tests are run.
        has_ended = failed_premise(self.tests) is not None
        return min(len(one.seeds) for one in self.tests if one.seeds or not has_ended)


def decide(test: Test, effect: Interval) -> Verdict:
    """The test's rule; see `Test`. One seed decides nothing: its interval is unbounded."""
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


def judge_test(
    test: Test, figures: Mapping[str, Figures], noise_of: Callable[[Test], Noise | None] | None = None
) -> TestResult:
    """The contrast over the seeds that all of the test's arms have. `noise_of`: what other arms tell of its
    variance between seeds."""
    terms = [(figures.get(arm, {}), figure, weight) for arm, figure, weight in test.terms]
    seeds = tuple(
        seed for seed in sorted(terms[0][0]) if all(figure in arm.get(seed, {}) for arm, figure, _ in terms)
    )
    if not seeds:
        return TestResult(test, "not run", None, None, ())
    values = [sum(weight * arm[seed][figure] for arm, figure, weight in terms) for seed in seeds]
    effect = interval(values, noise=None if noise_of is None else noise_of(test))
    return TestResult(test, decide(test, effect), effect, interval(values), seeds)


def judge(
    claim: Claim,
    figures: Mapping[str, Figures],
    scale: str,
    length: LedgerLength = "short",
    rates: Mapping[str, float | None] | None = None,
    untuned: Mapping[str, str] | None = None,
    noise_of: Callable[[Test], Noise | None] | None = None,
) -> ClaimResult:
    """A claim's verdict from its tests': all have to hold, and one that fails refutes it, unless it was only
    the premise. Where the premise does not hold, the other tests need not be run.

    `untuned`: why an arm has no reliable learning rate. Such an arm leaves its claims without a verdict.
    `noise_of`: as for a test."""
    tests = tuple(judge_test(test, figures, noise_of) for test in claim.tests)
    own = {arm: (rates or {}).get(arm) for arm in claim.arms}
    result = ClaimResult(claim, scale, "undecided", tests, length=length, rates=own)
    premise = failed_premise(tests)
    needed = claim.arms if premise is None else claim.premise_arms
    problems = [problem for arm, problem in (untuned or {}).items() if arm in needed]
    verdicts = [one.verdict for one in tests]
    if problems:
        begun = any(verdict != "not run" for verdict in verdicts) or any(
            "edge" in problem for problem in problems
        )
        return replace(
            result,
            verdict="untuned" if begun else "not run",
            note="; ".join(dict.fromkeys(problems)) if begun else "",
        )
    note = "" if premise is None else f"its premise is {premise.verdict} ({premise.test.label})"
    return replace(result, verdict=_combined(tests), note=note)


def _combined(tests: Sequence[TestResult]) -> Verdict:
    """One test that is refuted refutes a claim, unless it is a premise: then nothing is decided."""
    if failed_premise(tests) is not None:
        return "undecided"
    order: tuple[Verdict, ...] = ("not run", "refuted", "undecided")
    verdicts = [one.verdict for one in tests]
    return next((verdict for verdict in order if verdict in verdicts), "supported")


def _stretched(tests: Sequence[TestResult], factor: float) -> list[TestResult]:
    return [
        one if one.effect is None else replace(one, verdict=decide(one.test, one.effect.stretched(factor)))
        for one in tests
    ]


def failed_premise(tests: Sequence[TestResult]) -> TestResult | None:
    """The first premise that was run and does not hold."""
    return next((one for one in tests if one.test.premise and one.verdict in ("refuted", "undecided")), None)


def deciding_test(result: ClaimResult) -> TestResult:
    """The test that decided; a premise only where it has ended the claim before its other tests were run."""
    own = [one for one in result.tests if not one.test.premise] or list(result.tests)
    premise = failed_premise(result.tests)
    if premise is not None and not any(one.seeds for one in own):
        return premise
    return next((one for one in own if one.verdict == result.verdict), own[0])


def headline(results: Sequence[ClaimResult]) -> ClaimResult:
    """The main result of a claim with several scales: the smallest scale with a verdict, else the last that
    was run."""
    by_scale: dict[str, list[ClaimResult]] = {}
    for result in results:
        by_scale.setdefault(result.scale, []).append(result)
    combined = [over_lengths(found) for found in by_scale.values()]
    decided = [result for result in combined if result.verdict in ("supported", "refuted")]
    run = [result for result in combined if result.verdict != "not run"]
    return (decided or run[-1:] or combined)[0]


def over_lengths(results: Sequence[ClaimResult]) -> ClaimResult:
    """One result of a claim that is judged at several lengths: that of the longest, with a note on how the
    effect changed.

    If the longest was not run, nothing is decided: the effect may be speed of learning."""
    longest = results[-1]
    if len(results) == 1:
        return longest
    shortest = results[0]
    if longest.verdict in ("not run", "untuned"):
        if shortest.verdict not in ("supported", "refuted"):
            return shortest
        note = f"{shortest.verdict} in the short run; the long one is {longest.verdict}"
        return replace(shortest, verdict="undecided", note=note, short_verdict=shortest.verdict)
    fades = _fading(shortest, longest)
    return replace(longest, note="; ".join(note for note in (fades, longest.note) if note))


def _fading(shortest: ClaimResult, longest: ClaimResult) -> str:
    """What became of the short run's effect: gone in the long one, or less than half as large, by more than
    the intervals of both explain; or too close to tell. Nothing where it stays."""
    if shortest.verdict != "supported":
        return ""
    after = deciding_test(longest)
    before = next(one for one in shortest.tests if one.test == after.test)
    if before.effect is None or after.effect is None:
        return ""
    noise = hypot(before.effect.half_width, after.effect.half_width)
    is_noise = abs(after.effect.mean - before.effect.mean) <= noise
    if longest.verdict == "undecided" and is_noise:
        return "the effect appears in the short run; the long one leaves open whether it lasts"
    if longest.verdict != "supported":
        return "the effect appears in the short run and not in the long one: speed of learning, not quality"
    halved = abs(after.effect.mean) < abs(before.effect.mean) / 2
    if after.test.rule not in ("below", "above") or is_noise or not halved:
        return ""
    return (
        f"the effect shrinks from {before.effect.mean:+.3f} in the short run to {after.effect.mean:+.3f} in "
        "the long one: most of it is speed of learning"
    )
