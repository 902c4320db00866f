"""Verdicts from intervals, by hand: each rule at its edges, premises, missing seeds, and which scale decides
a claim."""

from __future__ import annotations

import math

import pytest

from somelab.analysis.intervals import Interval
from somelab.experiments.claims.claim import Claim, Rule, Test, lower
from somelab.experiments.claims.shell import LedgerLength
from somelab.experiments.ledger.listing import counted
from somelab.experiments.ledger.verdict import (
    ClaimResult,
    TestResult,
    Verdict,
    decide,
    headline,
    judge,
    judge_test,
)


def effect(low: float, high: float) -> Interval:
    return Interval((low + high) / 2, low, high, 3)


@pytest.mark.parametrize(
    ("rule", "low", "high", "verdict"),
    [
        ("below", -0.5, -0.1, "supported"),
        ("below", -0.5, 0.1, "undecided"),
        ("below", -0.05, 0.05, "refuted"),  # no effect of 0.1 is possible
        ("below", 0.1, 0.5, "refuted"),
        ("below", -0.09, -0.01, "refuted"),  # real, and too small to matter
        ("below", -0.12, -0.02, "undecided"),  # real, and perhaps large enough
        ("above", 0.1, 0.5, "supported"),
        ("above", -0.1, 0.5, "undecided"),
        ("above", -0.5, 0.05, "refuted"),
        ("within", -0.05, 0.09, "supported"),
        ("within", -0.05, 0.2, "undecided"),
        ("within", 0.11, 0.2, "refuted"),
        ("within", -0.3, -0.11, "refuted"),
        ("at most", -3.0, 0.05, "supported"),
        ("at most", 0.05, 0.2, "undecided"),
        ("at most", 0.11, 0.2, "refuted"),
        ("at least", 0.11, 0.2, "supported"),
        ("at least", 0.05, 0.2, "undecided"),
        ("at least", 0.0, 0.05, "refuted"),
    ],
)
def test_rules_with_a_smallest_effect_of_a_tenth(rule: Rule, low: float, high: float, verdict: str) -> None:
    assert decide(Test("", "m", {"a": 1.0}, rule, 0.1), effect(low, high)) == verdict


@pytest.mark.parametrize("rule", ["below", "above", "within", "at most", "at least"])
def test_one_seed_decides_nothing(rule: Rule) -> None:
    alone = Interval(-5.0, -math.inf, math.inf, 1)
    assert decide(Test("", "m", {"a": 1.0}, rule, 0.1), alone) == "undecided"


FIGURES = {
    "a": {0: {"m": 1.0}, 1: {"m": 2.0}, 2: {"m": 3.0}, 3: {"m": 9.0}},
    "b": {0: {"m": 2.0}, 1: {"m": 3.1}, 2: {"m": 3.9}},
    "c": {0: {"m": 0.0}, 1: {"m": 0.0}, 2: {}},
}


def test_a_contrast_is_taken_seed_by_seed_over_the_seeds_that_all_arms_have() -> None:
    # a - b is -1, -1.1, -0.9: mean -1, deviation 0.1, half width 4.3027 * 0.1 / sqrt(3).
    found = judge_test(lower("a", "b", 0.1, "m"), FIGURES)
    assert found.seeds == (0, 1, 2)
    assert found.effect is not None
    assert found.effect.mean == pytest.approx(-1.0)
    assert found.effect.half_width == pytest.approx(0.24841, abs=1e-4)
    assert found.verdict == "supported"
    three = judge_test(Test("", "m", {"a": 1.0, "b": -0.5, "c": 2.0}, "above", 0.1), FIGURES)
    assert three.seeds == (0, 1)
    assert three.effect is not None
    assert three.effect.mean == pytest.approx((0.0 + 0.45) / 2)


def test_arms_that_were_not_run_leave_a_claim_open() -> None:
    claim = Claim("x", "", "", (lower("a", "b", 0.1, "m"), lower("a", "nowhere", 0.1, "m")))
    result = judge(claim, FIGURES, "micro")
    assert result.verdict == "not run"
    assert [test.verdict for test in result.tests] == ["supported", "not run"]
    assert result.num_seeds == 0


def verdict_of(*tests: Test) -> tuple[str, str]:
    result = judge(Claim("x", "", "", tests), FIGURES, "micro")
    return result.verdict, result.note


def test_all_tests_have_to_hold_and_one_refutes() -> None:
    right, wrong, open_ = lower("a", "b", 0.1, "m"), lower("b", "a", 0.1, "m"), lower("a", "b", 1.1, "m")
    assert verdict_of(right, right) == ("supported", "")
    assert verdict_of(right, wrong) == ("refuted", "")
    assert verdict_of(right, open_) == ("undecided", "")
    assert verdict_of(open_, wrong) == ("refuted", "")


def test_without_its_premise_a_claim_is_undecided() -> None:
    right = lower("a", "b", 0.1, "m")
    premise = Test("there is a collapse", "m", {"a": 1.0, "b": -1.0}, "above", 0.1, premise=True)
    assert verdict_of(premise, right) == ("undecided", "its premise is refuted (there is a collapse)")
    holds = Test("", "m", {"b": 1.0, "a": -1.0}, "above", 0.1, premise=True)
    assert verdict_of(holds, right) == ("supported", "")


@pytest.mark.parametrize(
    ("bounds", "verdict", "close"),
    [
        ([(-0.5, -0.1)], "supported", False),
        ([(-0.5, -0.01)], "supported", True),
        ([(-0.5, 0.01)], "undecided", True),
        ([(-0.5, 0.1)], "undecided", False),
        ([(-0.099, 0.1)], "refuted", True),
        ([(-0.5, -0.1), (-0.5, -0.01)], "supported", True),  # the second could turn, and the claim with it
        ([(0.2, 0.5), (-0.5, -0.01)], "refuted", False),  # one refuted test is enough
    ],
)
def test_a_verdict_is_close_if_a_tenth_of_the_width_changes_it(
    bounds: list[tuple[float, float]], verdict: Verdict, close: bool
) -> None:
    test = lower("a", "b", 0.1, "m")
    effects = [effect(*one) for one in bounds]
    tests = tuple(TestResult(test, decide(test, one), one, None, (0, 1, 2)) for one in effects)
    result = ClaimResult(Claim("x", "", "", (test,) * len(tests)), "micro", verdict, tests)
    assert result.is_close == close


def test_what_has_no_verdict_is_not_close() -> None:
    test = lower("a", "b", 0.1, "m")
    near = TestResult(test, "supported", effect(-0.5, -0.01), None, (0, 1, 2))
    claim = Claim("x", "", "", (test,))
    assert not ClaimResult(claim, "micro", "untuned", (near,)).is_close
    assert not ClaimResult(claim, "micro", "undecided", (near,), short_verdict="supported").is_close
    missing = TestResult(test, "not run", None, None, ())
    assert not ClaimResult(claim, "micro", "not run", (missing,)).is_close
    alone = Interval(-5.0, -math.inf, math.inf, 1)
    assert not ClaimResult(
        claim, "micro", "undecided", (TestResult(test, "undecided", alone, None, (0,)),)
    ).is_close


def test_a_claim_that_needs_two_lengths_is_open_after_the_short_one_which_is_reported() -> None:
    def over(short: Verdict, long: Verdict) -> tuple[str, str | None]:
        claim = Claim("x", "", "", (), lengths=("short", "long"))
        lengths: list[tuple[LedgerLength, Verdict]] = [("short", short), ("long", long)]

        def result(length: LedgerLength, verdict: Verdict) -> ClaimResult:
            test = TestResult(lower("a", "b"), verdict, None, None, ())
            return ClaimResult(claim, "micro", verdict, (test,), length=length)

        found = headline([result(*one) for one in lengths])
        return found.verdict, found.short_verdict

    assert over("supported", "not run") == ("undecided", "supported")
    assert over("refuted", "untuned") == ("undecided", "refuted")
    assert over("undecided", "not run") == ("undecided", None)
    assert over("supported", "refuted") == ("refuted", None)
    assert counted(["undecided", "refuted", "undecided"], ["refuted", None, None]) == (
        "1 refuted, 2 undecided (1 decided after 1.0 M tokens, to be run for longer)"
    )
    assert counted(["supported", "not run"], [None, None]) == "1 supported, 1 not run"


def test_an_effect_that_shrinks_with_training_is_called_speed_of_learning() -> None:
    def note(short: float, long: float, spread: float = 0.01) -> str:
        claim = Claim("x", "", "", (lower("a", "b", 0.01, "m"),), lengths=("short", "long"))
        lengths: list[tuple[LedgerLength, float]] = [("short", short), ("long", long)]
        results = [
            judge(
                claim,
                {
                    "a": {seed: {"m": effect + spread * (seed - 1)} for seed in range(3)},
                    "b": {seed: {"m": 0.0} for seed in range(3)},
                },
                "micro",
                length,
            )
            for length, effect in lengths
        ]
        return headline(results).note

    assert note(-0.141, -0.029) == (
        "the effect shrinks from -0.141 in the short run to -0.029 in the long one: most of it is speed of "
        "learning"
    )
    assert note(-0.141, -0.1) == "", "more than half is left"
    assert note(-0.141, 0.0).startswith("the effect appears in the short run and not in the long one")
    assert note(-0.09, -0.04, spread=0.015) == "", "the intervals of both explain the difference"
    assert note(-0.03, -0.01).endswith("the long one leaves open whether it lasts"), "so they do here"
    assert note(0.0, -0.1) == "", "there was nothing to shrink"


def test_the_smallest_scale_that_decides_speaks() -> None:
    def result(scale: str, verdict: str) -> ClaimResult:
        return ClaimResult(Claim("x", "", "", ()), scale, verdict, ())  # type: ignore[arg-type]

    def speaks(micro: str, mini: str) -> str:
        return headline([result("micro", micro), result("mini", mini)]).scale

    assert speaks("supported", "refuted") == "micro"
    assert speaks("undecided", "refuted") == "mini"
    assert speaks("undecided", "not run") == "micro"
    assert speaks("undecided", "undecided") == "mini"
    assert speaks("not run", "not run") == "micro"
