"""Continual learning: the measures by hand, the learners by what they may change, a study that goes on where
it was killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.adapt.continual import measures, session
from somelab.adapt.continual.bases import dense_config, some_config
from somelab.adapt.continual.learners import LEARNERS, Consolidation, Replay
from somelab.adapt.continual.session import StudySettings, run_study
from somelab.adapt.continual.stream import mixed, names_of, open_stream
from somelab.adapt.continual.tables import as_csv, markdown, summarise
from somelab.cli.main import main
from somelab.errors import ConfigError, SomelabError
from somelab.model import Decoder
from somelab.model.count import count_parameters
from tests.adapt.builders import stream_of
from tests.model.builders import assert_bit_equal, buffers_of, decoder_of

# Rows: after learning experience 0, 1, 2. Columns: the loss on each.
MATRIX = [[2.0, 5.0, 6.0], [3.0, 1.0, 5.5], [2.5, 1.25, 1.5]]
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


def test_the_measures_by_hand() -> None:
    assert measures.average_loss(MATRIX) == pytest.approx((2.5 + 1.25 + 1.5) / 3)
    # Experience 0 rose by 1 at worst and is 0.5 above its best at the end; experience 1 rose by 0.25.
    assert measures.forgetting(MATRIX) == pytest.approx((1.0 + 0.25) / 2)
    assert measures.final_forgetting(MATRIX) == pytest.approx((0.5 + 0.25) / 2)
    assert measures.backward_transfer(MATRIX) == pytest.approx(((2.0 - 2.5) + (1.0 - 1.25)) / 2)
    # Against a model that learned nothing: 7 - 5 on experience 1, 7.5 - 5.5 on experience 2.
    assert measures.forward_transfer(MATRIX, [8.0, 7.0, 7.5]) == pytest.approx(2.0)
    assert measures.forward_transfer(MATRIX, MATRIX[0], first=2) == pytest.approx(0.5)


def test_a_learner_that_only_improves_has_no_forgetting() -> None:
    better = [[2.0, 5.0], [1.5, 1.0]]
    assert measures.forgetting(better) == pytest.approx(-0.5)
    assert measures.backward_transfer(better) == pytest.approx(0.5)


def test_one_experience_has_no_past() -> None:
    assert (
        measures.forgetting([[2.0]])
        == measures.backward_transfer([[2.0]])
        == measures.forward_transfer([[2.0]], [3.0])
        == 0.0
    )


def test_streams_are_named() -> None:
    assert [name for name, _ in names_of(("builtin",))][:2] == ["story", "recipe"]
    assert names_of(("builtin:weather,story",)) == [
        ("weather", "builtin:weather"),
        ("story", "builtin:story"),
    ]
    assert names_of(("a/one.txt", "two.txt")) == [("one", "a/one.txt"), ("two", "two.txt")]
    for words, problem in (
        (("one.txt",), "one experience"),
        (("a/x.txt", "b/x.txt"), "twice"),
        (("builtin:stroy,recipe",), "story"),
    ):
        with pytest.raises(ConfigError, match=problem):
            names_of(words)


def test_the_dense_model_has_as_many_trained_parameters() -> None:
    some = some_config("micro", {})
    wanted, found = count_parameters(some).trainable, count_parameters(dense_config(some)).trainable
    assert abs(found - wanted) <= some.model.num_layers * (2 * some.model.d_model + 1)


def learner_model(name: str) -> Decoder:
    return decoder_of({"feed_forward": LEARNERS[name].feed_forward})


CHANGING = {"some-keys": {"keystore"}, "some-memory": {"keystore"}, "some-keys+query": {"keystore", "router"}}


@pytest.mark.parametrize("name", LEARNERS)
def test_each_learner_changes_what_it_may(name: str) -> None:
    model = learner_model(name)
    before = buffers_of(model)
    learner = LEARNERS[name](model, 0.01, seed=0)
    learner.finish(lambda: stream_of(seed=7))
    scores = list(learner.learn(stream_of(num_rows=300)))
    assert sum(score.num_tokens for score in scores) == 300 * 16
    changed = {
        part
        for key, value in buffers_of(model).items()
        if not torch.equal(value, before[key])
        for part in key.split(".")
    }
    allowed = CHANGING.get(name)
    if allowed is not None:
        assert changed & {"embedding", "attention", "experts"} == set()
        assert (changed & {"keystore", "router"}) == allowed
    else:
        assert {"embedding", "attention"} <= changed
    assert (learner.num_trainable == 0) == (name in ("some-keys", "some-memory"))


def test_a_batch_is_scored_before_it_is_learned_from() -> None:
    model = learner_model("dense")
    batch = stream_of(num_rows=8, batch_size=8)[0]
    learner = LEARNERS["dense"](model, 0.05, seed=0)
    at_rest = learner.measure([batch]).loss
    first, second = learner.learn([batch, batch])
    assert first.loss == pytest.approx(at_rest)
    assert second.loss < first.loss


def test_consolidation_holds_what_mattered() -> None:
    """The same text again and again, once held and once not: the held weights stay nearer, and the fisher is
    not zero."""
    moved: list[float] = []
    for holds in (False, True):
        learner = Consolidation(learner_model("dense"), 0.01, seed=0)
        if holds:
            learner.finish(lambda: stream_of(seed=7))
            assert sum(float(fisher.sum()) for fisher in learner.fisher) > 0
            for fisher in learner.fisher:
                fisher.mul_(1e4)
        start = [parameter.detach().clone() for parameter in learner.parameters]
        list(learner.learn(stream_of(num_rows=64)))
        moved.append(sum(float((a.detach() - b).norm()) for a, b in zip(learner.parameters, start)))
    assert moved[1] < 0.9 * moved[0]


def test_the_reservoir_is_even_and_half_of_each_step() -> None:
    learner = Replay(learner_model("dense"), 0.01, seed=0)
    batches = stream_of(num_rows=2000, batch_size=8)
    taught = [learner.taught(batch) for batch in batches]
    assert all(len(batch.tokens_BT) == 8 for batch in taught)
    assert len(learner.reservoir) == 512
    place = {
        tuple(row): number
        for number, row in enumerate(torch.cat([batch.tokens_BT for batch in batches]).tolist())
    }
    kept = torch.tensor([place[tuple(row.tokens_BT[0].tolist())] for row in learner.reservoir]).float()
    assert 900 < float(kept.mean()) < 1100  # every row of 2,000 has the same chance
    new_rows = set(map(tuple, batches[-1].tokens_BT.tolist()))
    assert sum(tuple(row) in new_rows for row in taught[-1].tokens_BT.tolist()) == 4


@pytest.fixture(scope="module")
def tiny_plan() -> StudySettings:
    return StudySettings(
        stream=("builtin:story,recipe,weather",),
        learners=("some-keys", "dense", "joint"),
        tokens=512,
        base_factor=2,
        eval_tokens=256,
        changes=TINY,
    )


@pytest.fixture(scope="module")
def studied(
    tiny_plan: StudySettings, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[dict[str, Any]]]:
    out = tmp_path_factory.mktemp("study")
    return out, run_study(tiny_plan, out)


def test_a_study_has_a_square_matrix_and_its_measures(studied: tuple[Path, list[dict[str, Any]]]) -> None:
    _, results = studied
    assert [result["learner"] for result in results] == ["some-keys", "dense", "joint"]
    for result in results:
        assert [len(row) for row in result["matrix"]] == [3, 3, 3]
        assert result["forgetting"] == pytest.approx(measures.forgetting(result["matrix"]))
        assert result["tokens_per_experience"] == 512
    assert results[1]["matrix"][0] == pytest.approx(results[2]["matrix"][0]), (
        "dense and joint share their base"
    )
    assert results[0]["num_trainable"] == 0
    assert results[1]["num_trainable"] > 0


def test_a_study_goes_on_where_it_was_killed(
    studied: tuple[Path, list[dict[str, Any]]], tiny_plan: StudySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, results = studied
    (out / "results" / "joint-seed0.json").unlink()
    made: list[str] = []
    whole = session._follow
    monkeypatch.setattr(
        session, "_follow", lambda learner, name, *rest: made.append(name) or whole(learner, name, *rest)
    )
    assert run_study(tiny_plan, out) == results
    assert made == ["joint"]


def test_another_study_does_not_mix_in(
    studied: tuple[Path, list[dict[str, Any]]], tiny_plan: StudySettings
) -> None:
    from dataclasses import replace

    with pytest.raises(SomelabError, match="tokens"):
        run_study(replace(tiny_plan, tokens=1024), studied[0])


def test_tables(studied: tuple[Path, list[dict[str, Any]]]) -> None:
    results = studied[1]
    summary = summarise([*results, {**results[1], "seed": 1, "average_loss": results[1]["average_loss"] + 1}])
    dense = summary["learners"]["dense"]
    assert dense["average_loss"]["mean"] == pytest.approx(results[1]["average_loss"] + 0.5)
    assert dense["average_loss"]["low"] < dense["average_loss"]["mean"] < dense["average_loss"]["high"]
    assert summary["learners"]["some-keys"]["average_loss"]["low"] is None
    assert len(markdown(summary).splitlines()) == 2 + 3
    head, *lines = as_csv(summary).splitlines()
    assert head.startswith("learner,num_trainable,average_loss,average_loss_low")
    assert all(line.count(",") == head.count(",") for line in lines)


def test_joint_batches_take_experiences_in_turn(tiny_plan: StudySettings) -> None:
    config = some_config("micro", TINY)
    experiences = open_stream(names_of(tiny_plan.stream), config)
    batch = next(mixed(experiences, 0, 1))
    first = next(iter(experiences[1].batches(0, 1)))
    assert batch.tokens_BT.shape == (4, 32)
    assert torch.equal(batch.tokens_BT[1], first.tokens_BT[0])


def test_from_scratch_learns_the_first_experience_too(tiny_plan: StudySettings, tmp_path: Path) -> None:
    from dataclasses import replace

    (result,) = run_study(replace(tiny_plan, from_scratch=True, learners=("dense",)), tmp_path)
    assert len(result["matrix"]) == 3
    assert result["reference"] != pytest.approx(result["matrix"][0])
    assert len(result["online"]) == 3


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.training.builders import flags_of

    words = [
        "continual",
        "builtin:story,recipe",
        "--learners",
        "some-keys,dense",
        "--tokens",
        "256",
        "--eval-tokens",
        "128",
    ]
    words += ["--out", str(tmp_path / "study"), *flags_of(TINY)]
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert list(record["learners"]) == ["some-keys", "dense"]
    assert record["experiences"] == ["story", "recipe"]
    assert json.loads((tmp_path / "study" / "summary.json").read_text())["learners"] == record["learners"]
    assert main(words) == 0
    assert "some-keys" in capsys.readouterr().out
    assert main(["continual", "builtin", "--learners", "dens"]) == 2
    assert "did you mean dense?" in capsys.readouterr().err


def test_keys_only_leaves_weights_to_the_bit() -> None:
    model = learner_model("some-keys")
    weights = {name: value for name, value in buffers_of(model).items() if "keystore" not in name}
    learner = LEARNERS["some-keys"](model, 0.01, seed=0)
    list(learner.learn(stream_of(num_rows=300)))
    assert_bit_equal(
        weights, {name: value for name, value in buffers_of(model).items() if "keystore" not in name}
    )
