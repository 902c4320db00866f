"""A continual study on the experiment runner: bases, learners, the table, a study that continues where it was
killed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.adapt.continual import measures
from somelab.adapt.continual.stream import mixed, names_of, open_stream
from somelab.cli.main import main
from somelab.errors import SomelabError
from somelab.experiments.runner.job import run_job
from somelab.experiments.streams.plan import StreamSettings, base_jobs, dense_config, some_config, stream_plan
from somelab.experiments.streams.study import StudyResult, run_study
from somelab.model.count import count_parameters
from somelab.view.page.results import kind_of
from somelab.view.page.studies import study_of
from tests.training.builders import flags_of

TINY: dict[str, Any] = {
    "model.d_model": 32,
    "model.num_heads": 2,
    "model.seq_len": 32,
    "model.vocab_size": 512,
    "experts.num_experts": 6,
    "experts.d_ffn": 32,
    "data.train_subset_size": 60,
    "data.val_subset_size": 8,
    "train.batch_size": 4,
}
SETTINGS = StreamSettings(
    stream=("builtin:story,recipe,weather",),
    learners=("some-keys", "dense", "joint"),
    tokens=512,
    base_factor=2,
    eval_tokens=256,
    changes=TINY,
)


def test_the_dense_model_has_as_many_trained_parameters() -> None:
    some = some_config("micro", {})
    wanted, found = count_parameters(some).trainable, count_parameters(dense_config(some)).trainable
    assert abs(found - wanted) <= some.model.num_layers * (2 * some.model.d_model + 1)


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StudyResult]:
    out = tmp_path_factory.mktemp("study")
    return out, run_study(SETTINGS, out, num_workers=1)


def results_of(study: StudyResult) -> dict[str, dict[str, Any]]:
    return {result["learner"]: result for result in study.summary["results"]}


def test_a_study_has_a_square_matrix_and_its_measures(studied: tuple[Path, StudyResult]) -> None:
    out, study = studied
    results = results_of(study)
    assert study.exit_code == 0
    assert list(results) == ["some-keys", "dense", "joint"]
    for result in results.values():
        assert [len(row) for row in result["matrix"]] == [3, 3, 3]
        assert result["forgetting"] == pytest.approx(measures.forgetting(result["matrix"]))
        assert result["tokens_per_experience"] == 512
    dense, joint = results["dense"]["matrix"][0], results["joint"]["matrix"][0]
    assert dense == pytest.approx(joint), "dense and joint share their base"
    assert results["some-keys"]["num_trainable"] == 0
    assert results["dense"]["num_trainable"] > 0
    assert sorted(path.name for path in out.glob("base-*")) == ["base-dense", "base-some"]


def test_the_table_is_that_of_a_sweep(studied: tuple[Path, StudyResult]) -> None:
    out, study = studied
    table = json.loads((out / "table.json").read_text())
    assert [arm["name"] for arm in table["arms"]] == ["some-keys", "dense", "joint"]
    keys = table["arms"][0]
    result = results_of(study)["some-keys"]
    assert keys["means"]["average_loss"]["mean"] == result["average_loss"]
    assert keys["base"] == "dense"
    difference = result["average_loss"] - results_of(study)["dense"]["average_loss"]
    assert keys["differences"]["average_loss"]["mean"] == pytest.approx(difference)
    assert "| some-keys - dense | 1 |" in (out / "table.md").read_text()
    assert (out / "table.csv").read_text().startswith("arm,base,num_seeds,num_trainable_mean")


def test_the_page_shows_the_folder_as_a_study(studied: tuple[Path, StudyResult]) -> None:
    out, _ = studied
    assert kind_of(out) == "continual"
    study = study_of(out, "study")
    assert (study.problem, study.scale) == (None, "micro")
    assert [learner.name for learner in study.learners] == ["some-keys", "dense", "joint"]
    assert study.rows == ["base: story", "recipe", "weather"]


def test_a_study_continues_where_it_was_killed(studied: tuple[Path, StudyResult]) -> None:
    out, study = studied
    (out / "joint" / "seed-0" / "result.json").unlink()
    again = run_study(SETTINGS, out, num_workers=1)
    assert [(outcome.arm, outcome.status) for outcome in again.driven.outcomes] == [("joint", "finished")]
    assert again.summary == study.summary


def test_another_study_does_not_mix_in(studied: tuple[Path, StudyResult]) -> None:
    with pytest.raises(SomelabError, match="holds a study with tokens = 512, not 1024"):
        run_study(replace(SETTINGS, tokens=1024), studied[0])


def test_a_damaged_result_is_one_line(studied: tuple[Path, StudyResult], tmp_path: Path) -> None:
    job = replace(stream_plan(SETTINGS).jobs(tmp_path)[0])
    job.folder.mkdir(parents=True)
    (job.folder / "result.json").write_text("{")
    with pytest.raises(SomelabError, match=r"cannot be read .* remove it to repeat it"):
        run_study(SETTINGS, tmp_path)


def test_a_learner_waits_for_its_base_and_fails_without(tmp_path: Path) -> None:
    plan = stream_plan(SETTINGS)
    assert [job.arm for job in base_jobs(SETTINGS, plan, tmp_path)] == ["base-some", "base-dense"]
    assert base_jobs(replace(SETTINGS, from_scratch=True), plan, tmp_path) == []
    outcome = run_job(plan.jobs(tmp_path)[0], 1)
    assert outcome.status == "failed"
    assert "base-some" in outcome.reason


def test_joint_batches_take_experiences_in_turn() -> None:
    config = some_config("micro", TINY)
    experiences = open_stream(names_of(SETTINGS.stream), config)
    batch = next(mixed(experiences, 0, 1))
    first = next(iter(experiences[1].batches(0, 1)))
    assert batch.tokens_BT.shape == (4, 32)
    assert torch.equal(batch.tokens_BT[1], first.tokens_BT[0])


def test_from_scratch_learns_the_first_experience_too(tmp_path: Path) -> None:
    study = run_study(replace(SETTINGS, from_scratch=True, learners=("dense",)), tmp_path, num_workers=1)
    (result,) = study.summary["results"]
    assert len(result["matrix"]) == 3
    assert result["reference"] != pytest.approx(result["matrix"][0])
    assert len(result["online"]) == 3


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["continual", "builtin:story,recipe", "--learners", "some-keys,dense", "--tokens", "256"]
    words += ["--eval-tokens", "128", "--workers", "1", "--out", str(tmp_path / "study"), *flags_of(TINY)]
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert list(record["learners"]) == ["some-keys", "dense"]
    assert record["experiences"] == ["story", "recipe"]
    assert json.loads((tmp_path / "study" / "summary.json").read_text())["learners"] == record["learners"]
    assert main(words) == 0
    assert "some-keys - dense" in capsys.readouterr().out
    assert main(["continual", "builtin", "--learners", "dens"]) == 2
    assert "did you mean dense?" in capsys.readouterr().err
