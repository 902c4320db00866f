"""Adaptive evaluation: scored before moved, back to the bit, the same for any batching, never a number that
is none."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from somelab.adapt import Adaptation, AdaptationSettings, adapting
from somelab.adapt.reading.chunks import chunks
from somelab.adapt.reading.mode import nats_of
from somelab.adapt.reading.score import total
from somelab.adapt.settings import GRAVITY_RULES
from somelab.core.gravity.credit import WHILE_READING
from somelab.core.layer import SomeLayer
from somelab.errors import ConfigError, SomelabError
from somelab.model import Decoder, next_token_loss
from tests.adapt.builders import KINDS, batches_of, rows_of_kind, stream_of
from tests.model.builders import assert_bit_equal, buffers_of, decoder_of

ALL_RULES = (*(rule for rule in GRAVITY_RULES if rule != "centring"), "temperature", "gain", "memory")
# Small intervals and a high pace: every rule has something to do within a few rows.
LIVELY: dict[str, Any] = {"rules": ALL_RULES, "rate": 50.0, "every": 40}
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "v4": {},
    "fixed keys": {"gravity": {"keys": "fixed"}},
    "gradient keys": {"gravity": {"keys": "gradient"}},
    "averaged keys, no norm": {"gravity": {"key_ema": 0.5, "norm": "none"}},
    "dot, cumulative": {"gravity": {"usage": "cumulative"}, "router": {"kind": "linear", "scoring": "dot"}},
    "sigmoid, learned temperature": {
        "router": {"kind": "mlp", "gates": "sigmoid", "learnable_temperature": True}
    },
    "no query network, centred": {"router": {"kind": "none", "centre_queries": True}},
}


def keys_of(model: Decoder) -> list[torch.Tensor]:
    return [layer.keystore.keys_ED.detach().clone() for layer in model.some_layers()]


@pytest.mark.parametrize("variant", VARIANTS)
def test_everything_is_back_to_the_bit(variant: str) -> None:
    model = decoder_of(**VARIANTS[variant])
    model.train()
    before, configs = buffers_of(model), [layer.router.config for layer in model.some_layers()]
    digests, steps = (
        [layer.keystore.digest() for layer in model.some_layers()],
        [x.keystore.step for x in model.some_layers()],
    )
    with adapting(model, **LIVELY) as adaptation:
        list(adaptation.read(stream_of()))
        moved = keys_of(model)
        assert adaptation.num_updates > 5
        assert adaptation.movement()["max_angle"] > 0.1
    assert not torch.equal(moved[0], keys_of(model)[0])
    assert_bit_equal(before, buffers_of(model))
    assert digests == [layer.keystore.digest() for layer in model.some_layers()]
    assert steps == [layer.keystore.step for layer in model.some_layers()]
    assert all(layer.router.config is config for layer, config in zip(model.some_layers(), configs))
    assert not any(layer.router._forward_hooks for layer in model.some_layers())
    assert model.training


def test_an_exception_rolls_back_too_even_behind_keep() -> None:
    model = decoder_of()
    before = buffers_of(model)

    def fail_on_the_way() -> None:
        with adapting(model, rules=("attraction",), rate=50.0, every=40) as adaptation:
            for number, _ in enumerate(adaptation.read(stream_of())):
                adaptation.keep()
                if number == 3:
                    raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail_on_the_way()
    assert_bit_equal(before, buffers_of(model))


def test_keep_leaves_the_keys_and_nothing_else() -> None:
    model = decoder_of()
    before = buffers_of(model)
    with adapting(model, rules=("attraction", "peer_pull"), rate=50.0, every=40) as adaptation:
        list(adaptation.read(stream_of()))
        moved = keys_of(model)
        adaptation.keep()
    after = buffers_of(model)
    assert torch.equal(moved[0], keys_of(model)[0])
    changed = {name.rsplit(".", 1)[1] for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"keys_ED", "usage_E", "mass_E"}


def test_what_a_checkpoint_has_no_place_for_cannot_be_kept() -> None:
    with (
        adapting(decoder_of(), rules=("attraction", "gain")) as adaptation,
        pytest.raises(ConfigError, match="gain"),
    ):
        adaptation.keep()


def test_without_rules_nothing_changes_at_any_moment() -> None:
    model = decoder_of()
    before = buffers_of(model)
    with adapting(model, rules=(), every=40) as adaptation:
        for reading in adaptation.read(stream_of()):
            assert not reading.moved
            assert_bit_equal(before, buffers_of(model))
    assert adaptation.num_updates == 0
    assert adaptation.num_tokens == 24 * 16


def test_a_token_is_scored_before_it_moves_a_key() -> None:
    """The keys that scored each chunk are spied on: they are those that the chunk before it left."""
    model, seen = decoder_of(), list[torch.Tensor]()
    layer = model.some_layers()[0]
    layer.router.register_forward_pre_hook(lambda router, inputs: seen.append(inputs[1].clone()))
    left = [layer.keystore.keys_ED.clone()]
    with adapting(model, rules=("attraction",), rate=100.0, every=64) as adaptation:
        for _ in adaptation.read(stream_of(num_rows=20)):
            left.append(layer.keystore.keys_ED.clone())
    assert len(seen) == 5
    for scored, before in zip(seen, left):
        assert torch.equal(scored, before)
    assert not torch.equal(left[0], left[1])


def test_moving_first_would_have_been_another_score() -> None:
    model, (first, second) = decoder_of(), stream_of(num_rows=8)
    model.eval()
    settings = {"rules": ("attraction",), "rate": 200.0, "every": 64}
    at_rest = [nats_of(model, batch, torch.float32)[batch.counted_BT] for batch in (first, second)]
    with adapting(model, **settings) as adaptation:
        one, two = adaptation.read([first, second])
    with adapting(model, **settings) as adaptation:
        list(adaptation.read([first]))
        moved = [nats_of(model, batch, torch.float32)[batch.counted_BT] for batch in (first, second)]
    assert torch.equal(one.nats_N, at_rest[0])
    assert torch.equal(two.nats_N, moved[1])
    assert not torch.allclose(one.nats_N, moved[0], atol=1e-6)
    assert not torch.allclose(two.nats_N, at_rest[1], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_size", [1, 5, 24])
def test_any_batching_gives_the_same_bits(kind: str, batch_size: int) -> None:
    rows_RS = rows_of_kind(kind, 24)
    found: list[tuple[torch.Tensor, list[torch.Tensor], float]] = []
    for size in (4, batch_size):
        model = decoder_of()
        with adapting(model, **LIVELY, mask="surprising", schedule="burst") as adaptation:
            readings = list(adaptation.read(batches_of(rows_RS, size)))
            nats_N = torch.cat([reading.nats_N for reading in readings])
            found.append((nats_N, keys_of(model), total(reading.score for reading in readings).nats))
    (nats_N, keys, sum_), (other_nats_N, other_keys, other_sum) = found
    assert torch.equal(nats_N, other_nats_N)
    assert sum_ == other_sum
    assert all(torch.equal(one, other) for one, other in zip(keys, other_keys))


def test_a_stream_read_in_two_calls_moves_keys_as_often() -> None:
    """What does not fill an interval waits for the next call; only the last bits may differ, by the shape of
    the products."""
    rows_RS, keys = rows_of_kind("random", 21), list[list[torch.Tensor]]()
    for parts in ([rows_RS], [rows_RS[:10], rows_RS[10:]]):
        model = decoder_of()
        with adapting(model, rules=("attraction", "peer_pull"), rate=20.0, every=64) as adaptation:
            for part in parts:
                list(adaptation.read(batches_of(part, 4)))
            assert adaptation.num_updates == 5
            keys.append(keys_of(model))
    for one, other in zip(*keys):
        assert torch.allclose(one, other, atol=1e-5)


def test_cuts_follow_counted_tokens() -> None:
    """Rows count 16 each: an interval of 40 is full with the third; one of 16 with each; what was carried
    shortens the first."""
    stream = stream_of(num_rows=8, batch_size=3)
    assert [(len(c.batch.tokens_BT), c.complete) for c in chunks(stream, 40)] == [
        (3, True),
        (3, True),
        (2, False),
    ]
    assert [len(c.batch.tokens_BT) for c in chunks(stream, 16)] == [1] * 8
    assert [len(c.batch.tokens_BT) for c in chunks(stream, 40, carried=24)] == [1, 3, 3, 1]


@pytest.mark.parametrize("where", ["embedding", "router"])
def test_numbers_that_are_none_never_reach_the_keys(where: str) -> None:
    """A poisoned token makes the states of its row infinite: its updates are refused, others go on."""
    model = decoder_of()
    layer = model.some_layers()[0]
    assert isinstance(layer, SomeLayer)
    with torch.no_grad():
        if where == "embedding":
            model.embedding.weight[7] = torch.inf
        else:
            model.some_layers()[1].router.linears[0].weight[0] = torch.nan
    stream = stream_of(num_rows=40)
    with adapting(model, **LIVELY) as adaptation:
        list(adaptation.read(stream))
        assert adaptation.num_rejected > 0 or where == "router"
        for place in adaptation.places:
            store = place.layer.keystore
            state = (store.keys_ED, store.usage_E, store.mass_E, store.load_bias_E, store.query_mean_D)
            assert all(bool(tensor.isfinite().all()) for tensor in state)
        assert all(0.4 < factor < 2.1 for factor in adaptation.levers()["temperature_factors"])


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"rules": ("atraction",)}, "attraction"),
        ({"rate": float("nan")}, "rate"),
        ({"every": 0}, "every"),
        ({"reversion": 1.5}, "reversion"),
        ({"trust_region": -1.0}, "trust_region"),
        ({"schedule": "linear"}, "schedule"),
        ({"mask": "some"}, "mask"),
        ({"rules": ("cache", "memory")}, "choose one"),
        ({"rules": ("cache", "bigram")}, "choose one"),
        ({"rules": ("centring",)}, "centre"),
        ({"speed": 2}, "speed"),
    ],
)
def test_impossible_settings_are_named(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        adapting(decoder_of(), **settings)


@pytest.mark.parametrize("rule", ["cache", "bigram"])
def test_a_model_without_keys_may_only_use_the_caches(rule: str) -> None:
    dense = decoder_of({"feed_forward": "dense"})
    with pytest.raises(ConfigError, match="no keys"):
        adapting(dense, rules=("attraction",))
    with adapting(dense, rules=(rule,), every=40) as adaptation:
        assert total(reading.score for reading in adaptation.read(stream_of())).num_tokens == 24 * 16


def test_reading_belongs_inside_the_context() -> None:
    adaptation = Adaptation(decoder_of(), AdaptationSettings())
    with pytest.raises(SomelabError, match="inside its context"):
        list(adaptation.read(stream_of()))


def test_default_rules_are_the_runs_own() -> None:
    assert adapting(decoder_of()).rules == ("attraction", "peer_pull", "decay")
    gravity = {"peer_pull": False, "decay": False, "load_bias": 0.001}
    own = decoder_of(gravity=gravity, router={"kind": "none", "centre_queries": True})
    assert adapting(own).rules == ("centring", "load_bias", "attraction")  # as they act


def test_adapting_adds_no_pass_and_few_operations() -> None:
    """Products counted by torch: the rules and statistics add less than a tenth to a plain reading of the
    same stream."""
    from torch.utils.flop_counter import FlopCounterMode

    counts: list[int] = []
    for rules in ((), ("attraction", "peer_pull", "decay", "respawn", "load_bias")):
        model, passes = decoder_of(), 0
        with FlopCounterMode(display=False) as counter, adapting(model, rules=rules, every=128) as adaptation:
            passes = len(list(adaptation.read(stream_of(num_rows=64))))
        counts.append(counter.get_total_flops())
        assert passes == 8
    assert counts[0] <= counts[1] <= 1.1 * counts[0]


def test_credit_while_reading_is_that_of_training() -> None:
    """Merits of a pass are equal in training and in test-time adaptation."""
    model = decoder_of(router={"kind": "linear"}, gravity={"credit": 0.1}).eval()
    (batch,) = batches_of(rows_of_kind("random", 6), 6)
    for layer in model.some_layers():
        layer.collects_in_eval = True
    output = model(
        batch.tokens_BT, counted_BT=batch.counted_BT, token_index_BT=batch.token_index_BT, hidden_only=True
    )
    loss = next_token_loss(
        model,
        output.hidden_BTD.detach().requires_grad_(),
        batch.targets_BT,
        batch.counted_BT,
        with_error=True,
    )
    assert loss.error_BTD is not None
    model.credit_(loss.error_BTD)
    wanted = [layer.statistics.credit_ED.clone() for layer in model.some_layers()]
    assert all(credit_ED.any() for credit_ED in wanted)
    for layer in model.some_layers():
        layer.collects_in_eval = False
    with adapting(model, rules=("credit",), every=10_000) as adaptation:
        list(adaptation.read([batch]))
        for place, credit_ED in zip(adaptation.places, wanted, strict=True):
            torch.testing.assert_close(place.seen.credit_ED, credit_ED, rtol=1e-4, atol=1e-5)


def test_credit_moves_keys_by_its_step_and_the_rules_of_the_run_name_it() -> None:
    model = decoder_of(
        router={"kind": "linear"},
        gravity={"credit": 0.1, "attraction": False, "peer_pull": False, "decay": False},
    )
    assert AdaptationSettings().resolved(model.config) == ("credit",)
    before = keys_of(model)
    with adapting(model, every=40, rate=2.0) as adaptation:
        next(iter(adaptation.read(stream_of())))
        tokens_of_a_step = model.config.train.batch_size * model.config.model.seq_len
        step = 2.0 * WHILE_READING * 40 / tokens_of_a_step
        moved = torch.stack(
            [(now - then).norm(dim=1) for now, then in zip(keys_of(model), before, strict=True)]
        )
    assert moved.max() == pytest.approx(step, rel=1e-2)
