"""What may be tuned, and what is refused in one line. And that nothing is chosen on what it is judged by:
other random seeds, other documents, and the validation file is never opened."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from somelab.config import override
from somelab.data.sources import open_source
from somelab.errors import ConfigError
from somelab.experiments.runner.job import run_job
from somelab.experiments.runner.plan import Arm, Job, Plan
from somelab.experiments.tuning.request import parse_request
from somelab.experiments.tuning.search import first_values
from somelab.experiments.tuning.tuner import SEED, Tuner, check_judging
from tests.experiments.test_tuning import config, curve_of, searched, tuner_in
from tests.training.builders import config_of, documents


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("train.learning_rat", "'train.learning_rat': is not a setting; did you mean train.learning_rate?"),
        (
            "train.seed",
            "'train.seed': selecting a random seed by its loss is overfitting; tune another setting",
        ),
        ("data.source=a,b", "'data.source': the text is what arms are compared on"),
        ("train.steps=10,20", "'train.steps': a search compares runs of equal length"),
        (
            "gravity.keys",
            "is not a number (moved | fixed | gradient), and a geometric grid needs a real one; give the",
        ),
        (
            "experts.top_k",
            "is a whole number, and a geometric grid needs a real one; give the values to try: --tune ",
        ),
        ("train.betas=1,2", "'train.betas': is a list, not one value; make an arm of each value"),
        ("gravity.extra.wind=1,2", "'gravity.extra': is a mapping, not one value"),
        ("train.clip=1", "'train.clip=1': one value leaves nothing to choose"),
        ("train.clip=1,,2", "'train.clip=1,,2': has an empty value"),
    ],
)
def test_what_cannot_be_tuned_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_request(text)
    assert complaint in str(error.value)
    assert error.value.field == "tune"


@pytest.mark.parametrize(
    ("text", "settings", "complaint"),
    [
        ("gravity.beta", {"gravity.beta": 0.0}, "gravity.beta = 0.0: a geometric grid needs a value above 0"),
        ("train.clip", {"train.clip": None}, "train.clip = None: a geometric grid needs a value above 0"),
        (
            "train.learning_rate",
            {"train.epochs": 2},
            "train.steps = None: a search compares runs of equal length",
        ),
        ("train.learning_rate", {"train.minutes": 2}, "(arm x); set train.steps in place of train.epochs or"),
        ("experts.top_k=1,99", {}, "experts.top_k = 99: is more than"),
        ("train.clip=1,2,1.0", {}, "train.clip = '1': is given twice"),
    ],
)
def test_an_arm_that_cannot_be_tuned_is_named(text: str, settings: dict[str, Any], complaint: str) -> None:
    arm = Arm("x", config(**settings))
    with pytest.raises(ConfigError) as error:
        parse_request(text).tuner(arm, Path(), "full")
    assert complaint in str(error.value)
    assert "(arm x)" in str(error.value)


def test_a_bounded_setting_has_its_first_values_where_it_is_allowed() -> None:
    """train.warmup_fraction is at most 1: from 0.8 the grid reaches down, and never tries 1.6."""
    arm = Arm("x", config(**{"train.warmup_fraction": 0.8}))
    tuner = parse_request("train.warmup-fraction").tuner(arm, Path(), "full")
    assert [job.arm for job in tuner.jobs()] == ["x@0.1", "x@0.2", "x@0.4", "x@0.8"]
    trials, _ = searched(tuner.search, lambda value, step: 2 - value)
    assert max(trial.value for trial in trials.values()) == 0.8
    assert curve_of(tuner.search, trials).standing == "at the edge"


def test_plans_whose_arms_could_not_be_compared_are_refused() -> None:
    request = parse_request("train.learning_rate")
    low, high = config(**{"train.learning_rate": 0.001}), config(**{"train.learning_rate": 0.002})
    with pytest.raises(
        ConfigError, match="low and high differ in it alone, and tuning would make them equal"
    ):
        request.check(Plan("p", (Arm("low", low), Arm("high", high))))
    request.check(
        Plan("p", (Arm("low", low), Arm("same", low), Arm("high", override(high, {"gravity.beta": 1.0}))))
    )
    with pytest.raises(ConfigError, match=r"data.purpose = 'tune': arm x would be evaluated on the text"):
        request.check(Plan("p", (Arm("x", config(**{"data.purpose": "tune"})),)))
    with pytest.raises(
        ConfigError, match="seeds = 1000: seeds from 1000 on are for tuning; choose seeds below 1000"
    ):
        request.check(Plan("p", (Arm("x", low),), (0, 1000)))


def test_seeds_that_tune_and_seeds_that_judge_are_disjoint(tmp_path: Path) -> None:
    check_judging((0, 1, 999))
    with pytest.raises(ConfigError):
        check_judging((0, SEED))
    tuner = tuner_in(tmp_path)
    assert {(job.seed, job.config.train.seed, job.config.data.purpose) for job in tuner.jobs()} == {
        (1000, 1000, "tune")
    }


@pytest.mark.parametrize("has_valid", [True, False])
def test_no_judged_document_is_in_what_tuning_validates_on(tmp_path: Path, has_valid: bool) -> None:
    texts = [f"{number}: {text}" for number, text in enumerate(documents(400))]
    path = tmp_path / "some-train.txt"
    path.write_text("\n<|endoftext|>\n".join(texts[:300] if has_valid else texts))
    if has_valid:
        (tmp_path / "some-valid.txt").write_text("\n<|endoftext|>\n".join(texts[300:]))
    judged = open_source(config_of(path).data)
    tuning = open_source(config_of(path, data__purpose="tune").data)
    judged_on, tuned_on = set(judged.val()), set(tuning.val())
    assert len(judged_on) == (100 if has_valid else pytest.approx(20, abs=12))
    assert tuned_on
    assert not judged_on & tuned_on
    assert not judged_on & set(tuning.train())
    assert not tuned_on & set(tuning.train())
    # What tuning reads is the training text of the judged runs, in two parts.
    assert tuned_on | set(tuning.train()) == set(judged.train())


class Opened:
    """Which files this process opens while `watching`; an audit hook sees every way to open one."""

    def __init__(self) -> None:
        self.watching, self.paths = False, list[str]()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.watching and event == "open" and isinstance(arguments[0], (str, Path)):
            self.paths.append(str(arguments[0]))


@pytest.fixture(scope="module")
def hook() -> Opened:
    """A hook cannot be removed: one serves all tests, and is deaf between them."""
    return Opened()


@pytest.fixture
def opened(hook: Opened) -> Iterator[Opened]:
    hook.watching, hook.paths = True, []
    yield hook
    hook.watching = False


def test_a_tuning_run_never_opens_the_validation_file(tmp_path: Path, opened: Opened) -> None:
    texts = documents(200)
    (tmp_path / "some-train.txt").write_text("\n<|endoftext|>\n".join(texts[:150]))
    valid = tmp_path / "some-valid.txt"
    valid.write_text("\n<|endoftext|>\n".join(texts[150:]))
    opened.paths.clear()
    config = config_of(tmp_path / "some-train.txt", train__steps=2)
    tuner = Tuner("x", config, tmp_path / "tuning", anchor=0.008, first=first_values(0))
    assert run_job(tuner.job(0), 1).status == "finished"
    assert tuner.curve().trials[0].ended
    assert str(tmp_path / "some-train.txt") in opened.paths
    assert str(valid) not in opened.paths
    # The same watch sees a judged run open it.
    judged = Job("x", 0, config, tmp_path / "x" / "seed-0")
    assert run_job(judged, 1).status == "finished"
    assert str(valid) in opened.paths
