"""Learners with parts of their own by hand: adapters with labels, superposed contexts, schedules, and what
has to be stored after a stream."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from somelab.adapt.continual import storage
from somelab.adapt.continual.adapters import Adapters
from somelab.adapt.continual.base import rate_share
from somelab.adapt.continual.dense import blocks_of
from somelab.adapt.continual.learners import LEARNERS, Consolidation, Replay
from somelab.adapt.continual.superposition import Superposition
from somelab.model import Decoder
from tests.adapt.builders import stream_of
from tests.model.builders import decoder_of


def dense_model() -> Decoder:
    return decoder_of({"feed_forward": "dense"})


def test_the_rate_rises_for_a_tenth_and_falls_to_zero() -> None:
    # 20 steps: two of warm-up, then a cosine over 18; halfway at step 11, at its end zero.
    assert [rate_share(step, 20) for step in (0, 1, 2)] == [0.5, 1.0, 1.0]
    assert rate_share(11, 20) == pytest.approx(0.5)
    assert rate_share(20, 20) == pytest.approx(0.0)
    assert rate_share(7, 0) == 1.0


def test_a_learner_follows_its_schedule() -> None:
    learner = LEARNERS["dense"](dense_model(), 0.01, seed=0)
    learner.begin(10)
    list(learner.learn(stream_of(num_rows=24)))  # 6 steps
    assert learner.optimizer is not None
    assert learner.optimizer.param_groups[0]["lr"] == pytest.approx(0.01 * rate_share(5, 10))


def test_adapters_leave_the_base_to_the_bit_and_need_labels() -> None:
    model = dense_model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    contents = storage.contents(model)
    learner = Adapters(model, 0.02, seed=0)
    text = stream_of(num_rows=32)
    at_rest = learner.measure(text).loss
    for experience in (1, 2):
        learner.tell(experience)
        list(learner.learn(stream_of(num_rows=64, seed=experience)))
    learner.tell(1)
    assert learner.measure(stream_of(num_rows=32, seed=1)).loss < at_rest
    learner.tell(0)  # it has no adapter: the base
    assert learner.measure(text).loss == at_rest
    assert contents <= storage.contents(model)
    assert len(before) > 0
    # D 24, V 61, two layers with a block of width 40: attention 16 (72 + 24) + 16 (24 + 24), the block 2 x 24
    # x 40 + 40 + 24; embedding and head 32 (61 + 24) each, 61 for the head's bias.
    own = 2 * (16 * 96 + 16 * 48 + 1920 + 64) + 2 * 32 * 85 + 61
    assert sum(parameter.numel() for parameter in learner.all) == 2 * own
    num_base = sum(value.numel() for value in before.values())
    assert storage.added(contents, num_base, model) == (2 * own, 2 * 4 * own)
    assert learner.facts()["num_adapters"] == 2
    assert learner.num_trainable == 2 * own


def test_only_the_newest_adapter_is_trained() -> None:
    learner = Adapters(dense_model(), 0.02, seed=0)
    learner.tell(1)
    list(learner.learn(stream_of(num_rows=16)))
    kept = [parameter.detach().clone() for parameter in learner.all]
    learner.tell(2)
    list(learner.learn(stream_of(num_rows=16, seed=3)))
    assert all(torch.equal(one, two) for one, two in zip(kept, learner.all, strict=False))


def test_a_context_without_signs_is_the_base() -> None:
    plain = LEARNERS["dense"](dense_model(), 0.01, seed=0)
    superposed = Superposition(dense_model(), 0.01, seed=0)
    text = stream_of(num_rows=16)
    assert superposed.measure(text).loss == plain.measure(text).loss


def test_signs_of_a_context_by_hand() -> None:
    learner = Superposition(dense_model(), 0.01, seed=0)
    learner.finish(lambda: stream_of(seed=7))
    list(learner.learn(stream_of(num_rows=8)))
    part, signs_CI = next(iter(learner.signs_CI.items()))
    assert isinstance(part, nn.Linear)
    assert torch.equal(signs_CI[0], torch.ones_like(signs_CI[0]))
    assert set(signs_CI[1].tolist()) == {-1.0, 1.0}
    x_BTI = torch.randn(2, 3, part.in_features)
    learner.context_BT = torch.tensor([[0, 0, 1], [1, 1, 1]])
    with torch.no_grad():
        found = part(x_BTI)
        expected = nn.functional.linear(x_BTI[0, 2] * signs_CI[1], part.weight, part.bias)
        untouched = nn.functional.linear(x_BTI[0, 0], part.weight, part.bias)
    torch.testing.assert_close(found[0, 2], expected)
    torch.testing.assert_close(found[0, 0], untouched)


def test_the_context_is_the_nearest_mean_so_far() -> None:
    learner = Superposition(dense_model(), 0.01, seed=0)
    learner.table_VD = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    learner.scale_D = torch.ones(2)
    learner.means_CD = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    # Means so far: (1, 0), (0.5, 0.5) [a tie goes to the first], (1/3, 2/3), (1/4, 3/4).
    assert learner.contexts(torch.tensor([[1, 2, 2, 2]])).tolist() == [[0, 0, 1, 1]]


def test_what_is_stored_beside_the_model() -> None:
    consolidation = Consolidation(dense_model(), 0.01, seed=0)
    assert consolidation.stored_bytes == 4 * consolidation.num_trainable
    replay = Replay(dense_model(), 0.01, seed=0)
    replay.finish(lambda: stream_of(num_rows=10))
    assert replay.stored_bytes == 2 * 10 * 16  # two bytes a token, rows of 16
    superposed = Superposition(dense_model(), 0.01, seed=0)
    superposed.finish(lambda: stream_of(seed=7))
    assert superposed.stored_bytes == 4 * superposed.table_VD.shape[1]


def test_changed_weights_have_to_be_stored_and_unchanged_ones_not() -> None:
    model = dense_model()
    contents, number = storage.contents(model), storage.num_parameters(model)
    assert storage.added(contents, number, model) == (0, 0)
    changed = blocks_of(model)[0][0].attention.out.weight
    with torch.no_grad():
        changed.mul_(2)
    assert storage.added(contents, number, model) == (0, 4 * changed.numel())
