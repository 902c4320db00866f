"""Continual learning: the measures by hand, and the learners by what they may change."""

from __future__ import annotations

import pytest
import torch

from somelab.adapt.continual import measures
from somelab.adapt.continual.learners import LEARNERS, Consolidation, Replay
from somelab.adapt.continual.stream import names_of
from somelab.errors import ConfigError
from somelab.model import Decoder
from tests.adapt.builders import stream_of
from tests.model.builders import assert_bit_equal, buffers_of, decoder_of

# Rows: after learning experience 0, 1, 2. Columns: the loss on each.
MATRIX = [[2.0, 5.0, 6.0], [3.0, 1.0, 5.5], [2.5, 1.25, 1.5]]


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


def learner_model(name: str) -> Decoder:
    return decoder_of({"feed_forward": LEARNERS[name].feed_forward})


CHANGING: dict[str, set[str]] = {
    "some-keys": {"keystore"},
    "some-memory": {"keystore"},
    "some-keys+query": {"keystore", "router"},
    "some-grow": set(),
}


ADDING = ("some-grow", "dense-adapters")
"""Learners that add to a frozen model: tests of their own."""


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ADDING])
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
    assert (learner.num_trainable == 0) == (
        name in ("some-keys", "some-memory", "some-grow")
    )  # its text is not new


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


def test_keys_only_leaves_weights_to_the_bit() -> None:
    model = learner_model("some-keys")
    weights = {name: value for name, value in buffers_of(model).items() if "keystore" not in name}
    learner = LEARNERS["some-keys"](model, 0.01, seed=0)
    list(learner.learn(stream_of(num_rows=300)))
    assert_bit_equal(
        weights, {name: value for name, value in buffers_of(model).items() if "keystore" not in name}
    )
