"""The learning rate of every learner is searched on text and a random seed that judge nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from somelab.adapt.continual.stream import Experience, names_of, open_stream
from somelab.config import override
from somelab.data.sources import open_source
from somelab.errors import ConfigError, SomelabError
from somelab.experiments.runner.plan import Job
from somelab.experiments.streams.plan import StreamSettings, some_config
from somelab.experiments.streams.searches import StreamSearches
from somelab.experiments.streams.study import StudyResult, run_study
from somelab.experiments.streams.task import FollowStream
from somelab.view.page.studies import study_of
from tests.experiments.test_streams import SETTINGS, TINY

TUNED = replace(SETTINGS, learners=("some-keys", "dense"), tune=True)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StudyResult]:
    out = tmp_path_factory.mktemp("tuned")
    return out, run_study(TUNED, out, num_workers=1)


def test_every_learner_with_a_rate_runs_at_its_best(tuned: tuple[Path, StudyResult]) -> None:
    out, study = tuned
    assert study.exit_code == 0
    keys, dense = (study.summary["learners"][name] for name in ("some-keys", "dense"))
    assert "tuning" not in keys
    curve = dense["tuning"]
    assert len(curve["trials"]) >= 4
    assert curve["seed"] == 1000
    losses = {point["value"]: point["loss"] for point in curve["curve"]}
    assert dense["learning_rate"] == curve["chosen"] == min(losses, key=lambda value: losses[value])
    table = (out / "table.md").read_text()
    assert "train.learning_rate | tuning | tuning runs" in table
    assert "## Tuning" in table
    assert set(study.summary["bases"]) == {"base-some", "base-dense"}
    assert study.summary["bases"]["base-dense"]["standing"] in ("tuned", "at the edge")
    assert study_of(out, "s").tuning is not None


def test_tuning_runs_use_another_seed_and_start_from_the_best_base(tuned: tuple[Path, StudyResult]) -> None:
    out, study = tuned
    found = [json.loads(path.read_text()) for path in out.glob("tuning/dense-*/*/seed-*/result.json")]
    assert {result["seed"] for result in found} == {1000}
    assert all(
        set(result) == {"learner", "seed", "learning_rate", "average_loss", "conditions"} for result in found
    )
    searches = StreamSearches(TUNED, out)
    task = searches.tuners["dense"].task
    assert isinstance(task, FollowStream)
    best = study.summary["bases"]["base-dense"]["chosen"]
    assert task.base.startswith("tuning/base-dense-")
    assert task.base.endswith(f"/{best:g}")


def test_tuning_never_reads_what_judges() -> None:
    """The validation documents of a tuning run are held back from the training documents: none of them is
    in its own training part or in what judges."""
    named = names_of(SETTINGS.stream)
    config = some_config("micro", TINY)
    judging = open_stream(named, config)
    tuning = open_stream(named, override(config, {"data.purpose": "tune"}))
    assert all(experience.config.data.purpose == "tune" for experience in tuning)
    for judge, tune in zip(judging, tuning, strict=True):
        assert judge.data.digest != tune.data.digest
        own, judged = (_texts(experience, "val") for experience in (tune, judge))
        assert own
        assert not own & judged
        assert not own & _texts(tune, "train")


def _texts(experience: Experience, split: str) -> set[str]:
    source = open_source(experience.config.data)
    return set(islice(source.train() if split == "train" else source.val(), 200))


def test_no_learner_is_judged_before_its_search_is_over(tmp_path: Path) -> None:
    searches = StreamSearches(TUNED, tmp_path)
    jobs: list[Job] = searches.jobs()
    assert jobs
    assert {job.seed for job in jobs} == {1000}
    assert {job.arm.partition("@")[0] for job in jobs} == {"base-some", "base-dense"}
    assert all(job.config.data.purpose == "tune" for job in jobs)


def test_a_tuned_study_does_not_mix_with_an_untuned_one(tuned: tuple[Path, StudyResult]) -> None:
    with pytest.raises(SomelabError, match="holds a study with tune = True, not False"):
        run_study(replace(TUNED, tune=False), tuned[0])


def test_a_tuned_study_continues(tuned: tuple[Path, StudyResult]) -> None:
    out, study = tuned
    (out / "dense" / "seed-0" / "result.json").unlink()
    again = run_study(TUNED, out, num_workers=1)
    assert [(outcome.arm, outcome.status) for outcome in again.driven.outcomes] == [("dense", "finished")]
    assert again.summary == study.summary


def test_adapters_cannot_start_from_scratch() -> None:
    with pytest.raises(ConfigError, match="needs a trained base"):
        StreamSettings(("builtin",), ("dense-adapters",), from_scratch=True)
