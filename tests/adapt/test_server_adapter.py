"""Serving while learning: readers see whole versions only, one writer, snapshots by name, bad text turned away."""

from __future__ import annotations

import threading

import pytest
import torch

from somelab.adapt.server_adapter import Adapter, batch_of_tokens
from somelab.errors import ConfigError
from somelab.model import Decoder
from tests.adapt.builders import rows_of_kind, stream_of
from tests.model.builders import assert_bit_equal, buffers_of, decoder_of, tokens_of

SETTINGS = {"rules": ("attraction", "peer_pull", "decay", "respawn"), "rate": 50.0, "every": 64}


def digest_of(model: Decoder) -> tuple[str, ...]:
    return tuple(layer.keystore.digest() for layer in model.some_layers())


def test_learning_publishes_another_version_and_leaves_the_model() -> None:
    model = decoder_of()
    before, adapter = buffers_of(model), Adapter(model, **SETTINGS)
    first = adapter.model
    held = digest_of(first)
    adapter.learn(stream_of())
    assert adapter.model is not first
    assert digest_of(first) == held, "a version in a reader's hands never changes"
    assert digest_of(adapter.model) != held
    assert_bit_equal(before, buffers_of(model))
    assert adapter.model.embedding.weight is model.embedding.weight, "weights are shared, not copied"
    stats = adapter.stats()
    assert (stats.version, stats.num_tokens, stats.num_updates) == (1, 24 * 16, 6)
    assert stats.max_angle > 0
    assert stats.score.num_tokens == 24 * 16


def test_keys_trained_by_gradient_are_not_shared_with_the_model() -> None:
    model = decoder_of(gravity={"keys": "gradient"})
    before, adapter = buffers_of(model), Adapter(model, **SETTINGS)
    adapter.learn(stream_of())
    assert adapter.stats().max_angle > 0
    assert_bit_equal(before, buffers_of(model))


def test_a_snapshot_comes_back_to_the_bit() -> None:
    adapter = Adapter(decoder_of(), **SETTINGS)
    adapter.learn(stream_of(seed=1))
    adapter.snapshot("monday")
    held = digest_of(adapter.model)
    adapter.learn(stream_of(seed=2, num_rows=25))
    assert digest_of(adapter.model) != held
    adapter.restore("monday")
    assert digest_of(adapter.model) == held
    adapter.learn(stream_of(seed=3, num_rows=4))
    once = digest_of(adapter.model)
    adapter.restore("monday")
    adapter.learn(stream_of(seed=3, num_rows=4))
    assert digest_of(adapter.model) == once


def test_snapshots_are_bounded_and_refused_rather_than_dropped() -> None:
    adapter = Adapter(decoder_of(), max_snapshots=2, **SETTINGS)
    adapter.snapshot("a")
    adapter.snapshot("b")
    adapter.snapshot("a")
    with pytest.raises(ConfigError, match="2 snapshots"):
        adapter.snapshot("c")
    adapter.forget("b")
    adapter.snapshot("c")
    assert adapter.stats().snapshots == ("a", "c")
    with pytest.raises(ConfigError, match="none of that name"):
        adapter.restore("b")


@pytest.mark.parametrize("tokens", [[[2, 3, 61]], [[2, -1, 4]]])
def test_tokens_outside_the_vocabulary_are_refused_whole(tokens: list[list[int]]) -> None:
    adapter = Adapter(decoder_of(), **SETTINGS)
    held = digest_of(adapter.model)
    good = stream_of(num_rows=4)[0]
    bad = batch_of_tokens(torch.tensor(tokens), torch.ones(62, dtype=torch.int64))
    with pytest.raises(ConfigError, match="vocabulary"):
        adapter.learn([good, bad])
    assert digest_of(adapter.model) == held
    assert (adapter.stats().num_refused, adapter.stats().num_tokens) == (1, 0)


def test_floats_and_flat_tokens_are_refused() -> None:
    for tokens in (torch.tensor([1, 2, 3]), torch.rand(2, 3)):
        with pytest.raises(ConfigError, match="token ids"):
            batch_of_tokens(tokens)
    with pytest.raises(ConfigError, match="cache"):
        Adapter(decoder_of(), rules=("cache",))


def test_a_model_with_broken_weights_never_gets_broken_keys() -> None:
    model = decoder_of()
    with torch.no_grad():
        model.embedding.weight[5] = torch.nan
    adapter = Adapter(model, **SETTINGS)
    adapter.learn(stream_of())
    assert adapter.stats().num_rejected > 0
    assert all(bool(layer.keystore.keys_ED.isfinite().all()) for layer in adapter.model.some_layers())


def test_readers_beside_a_writer_see_whole_versions_only() -> None:
    """Each reader's answers are those of one published version, first layer to last, while a writer publishes all the time."""
    adapter, tokens_BT = Adapter(decoder_of(), **SETTINGS), tokens_of(2, 16, seed=5)
    versions = {digest_of(adapter.model)}
    seen: list[tuple[tuple[str, ...], torch.Tensor]] = []
    stop, faults = threading.Event(), list[BaseException]()

    def read() -> None:
        try:
            while not stop.is_set():
                model = adapter.model
                with torch.no_grad():
                    logits = model(tokens_BT).logits_BTV
                seen.append((digest_of(model), logits))
                adapter.read(stream_of(num_rows=2))
        except BaseException as error:
            faults.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(12):
        adapter.learn(stream_of("alternating", 8, seed=turn))
        versions.add(digest_of(adapter.model))
        adapter.snapshot("last")
    stop.set()
    for reader in readers:
        reader.join()
    assert not faults
    assert seen
    assert {held for held, _ in seen} <= versions
    by_version: dict[tuple[str, ...], torch.Tensor] = {}
    for held, logits in seen:
        assert torch.equal(by_version.setdefault(held, logits), logits)


def test_two_writers_take_turns() -> None:
    adapter = Adapter(decoder_of(), **SETTINGS)
    writers = [threading.Thread(target=adapter.learn, args=(stream_of(num_rows=8, seed=seed),)) for seed in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert adapter.stats().num_tokens == 4 * 8 * 16
    assert adapter.stats().version == 4


def test_rows_as_a_client_sends_them() -> None:
    batch = batch_of_tokens(torch.from_numpy(rows_of_kind("random", 3)))
    assert batch.num_counted == 3 * 16
    assert batch.targets_BT[0, 0] == batch.tokens_BT[0, 1]
