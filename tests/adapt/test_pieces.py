"""The pieces by hand: rules, masks, schedules, levers, the memory of words, windows of scores."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from somelab.adapt import adapting
from somelab.adapt.reading.levers import GAIN_BOUND, GAIN_RATE, TEMPERATURE_BOUND, GainLever, TemperatureLever
from somelab.adapt.reading.masks import TokenMask
from somelab.adapt.reading.movement import angles, movement
from somelab.adapt.reading.reward import Expectation
from somelab.adapt.reading.rules import bound, order_for, reversion, reverted, trust_region
from somelab.adapt.reading.schedules import LEAST_CHUNKS, Pace
from somelab.adapt.reading.score import Score, windows
from somelab.adapt.reading.word_memory import MOST_COUNTS, RECENT, MemorySlots, WordMemory, bigram_slots
from somelab.adapt.settings import AdaptationSettings, gravity_of, paced
from somelab.config import override
from somelab.core.gravity import ORDER
from somelab.core.router import Routing
from somelab.errors import ConfigError
from somelab.model import Decoder
from tests.adapt.builders import stream_of
from tests.model.builders import config_of, decoder_of


def test_the_trust_region_brings_back_what_went_too_far() -> None:
    home_ED = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    keys_ED = torch.tensor([[1.0, 1.0], [0.0, 1.25], [1.0, 0.0]])
    expected_ED = torch.tensor([[1.0, 0.5], [0.0, 1.25], [1.0, 0.0]])
    assert torch.allclose(trust_region(keys_ED, home_ED, 0.5), expected_ED)
    assert torch.equal(trust_region(keys_ED, home_ED, 0.0), home_ED)


def test_reversion_goes_a_share_of_the_way() -> None:
    home_ED, keys_ED = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    assert torch.allclose(reversion(keys_ED, home_ED, 0.25), torch.tensor([[0.25, 1.5]]))
    assert torch.equal(reversion(keys_ED, home_ED, 0.0), keys_ED)


def test_the_bound_shortens_the_long_only() -> None:
    keys_ED = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    assert torch.allclose(bound(keys_ED, 2.0), torch.tensor([[1.2, 1.6], [0.3, 0.4]]))


def test_the_order_keeps_the_cores_rules_and_adds_two() -> None:
    state = decoder_of().some_layers()[0].keystore.state()
    names = [rule.act.__name__ for rule in order_for(AdaptationSettings(), state)]
    assert [name for name in names if name not in ("revert", "hold")] == [rule.act.__name__ for rule in ORDER]
    assert names.index("revert") == names.index("norm") - 1
    assert names.index("hold") == names.index("respawn") + 1


def test_reversion_moves_what_routing_reads_and_not_the_counts() -> None:
    state = decoder_of().some_layers()[0].keystore.state()
    moved = replace(state, load_bias_E=state.load_bias_E + 1, usage_E=state.usage_E + 8)
    back = reverted(moved, state, 0.5)
    assert torch.allclose(back.load_bias_E, state.load_bias_E + 0.5)
    assert torch.equal(back.usage_E, moved.usage_E)


@pytest.mark.parametrize("radius", [0.0, 0.05, 0.3])
def test_no_key_leaves_the_trust_region_in_reading(radius: float) -> None:
    model = decoder_of(gravity={"norm": "clamp", "key_ema": 0.5, "delta": 0.5, "respawn_threshold": 0.9})
    rules = ("attraction", "peer_pull", "decay", "respawn", "repulsion")
    with adapting(model, rules=rules, rate=300.0, every=40, trust_region=radius) as adaptation:
        for _ in adaptation.read(stream_of(num_rows=60)):
            for place in adaptation.places:
                store = place.layer.keystore
                for keys_ED, home_ED in (
                    (store.keys_ED, place.home.keys_ED),
                    (store.average_ED, place.home.routing_keys_ED),
                ):
                    assert float((keys_ED - home_ED).norm(dim=1).max()) <= radius + 1e-6
        assert sum(int(place.layer.keystore.respawns) for place in adaptation.places) > 0 or radius < 0.1


def test_switches_and_paces_of_the_derived_gravity() -> None:
    config = config_of(
        gravity={"alpha": 0.02, "beta": 0.004, "beta_final": 0.001, "keys": "fixed", "ema_decay": 0.81}
    )
    derived = gravity_of(config, ("attraction", "load_bias"))
    assert (derived.keys, derived.attraction, derived.peer_pull, derived.decay, derived.respawn) == (
        "moved",
        True,
        False,
        False,
        False,
    )
    assert (derived.alpha, derived.beta, derived.load_bias) == (0.02, 0.001, 0.001)
    half = paced(derived, 0.5)
    assert half.alpha == pytest.approx(0.01)
    assert half.ema_decay == pytest.approx(0.9)


def test_masks() -> None:
    nats_BT = torch.tensor([[1.0, 2.0, 3.0, 9.0, torch.nan]])
    counted_BT = torch.tensor([[True, True, True, False, True]])
    assert TokenMask("all").select(nats_BT, counted_BT).tolist() == [[True, True, True, False, False]]
    assert not TokenMask("none").select(nats_BT, counted_BT).any()
    surprising = TokenMask("surprising")
    assert surprising.select(nats_BT, counted_BT).tolist() == [[False, False, True, False, False]]
    # The bar stays near 2: a pass of higher losses is surprising as a whole.
    assert surprising.select(nats_BT + 4, counted_BT).tolist() == [[True, True, True, False, False]]


def test_schedules() -> None:
    assert [Pace("constant", 3.0).next(5.0) for _ in range(2)] == [3.0, 3.0]
    falling = Pace("sqrt", 2.0)
    assert [falling.next(5.0) for _ in range(4)] == pytest.approx([2.0, math.sqrt(2), 2 / math.sqrt(3), 1.0])
    burst = Pace("burst", 2.0)
    paces = [burst.next(loss) for loss in [4.0] * (LEAST_CHUNKS + 1) + [7.0, 7.0]]
    assert paces[LEAST_CHUNKS] == pytest.approx(2 / math.sqrt(LEAST_CHUNKS + 1))
    assert paces[-2:] == pytest.approx([2.0, math.sqrt(2)])
    assert burst.num_shifts == 1


def test_angles_are_exact_for_small_ones() -> None:
    home_ED = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    keys_ED = torch.tensor([[0.0, 3.0], [1.0, 1e-4], [0.0, -1.0]])
    assert angles(keys_ED, home_ED).tolist() == pytest.approx([math.pi / 2, 1e-4, math.pi], rel=1e-6)
    told = movement([(keys_ED, home_ED)])
    assert told["max_angle"] == pytest.approx(180.0)
    assert told["longest_key"] == pytest.approx(3.0)


def test_the_expectation_is_a_mean_per_word() -> None:
    expectation = Expectation(5, torch.device("cpu"))
    words_N = torch.tensor([1, 2, 1, 3])
    assert expectation.advantage(torch.tensor([4.0, 1.0, 2.0, 5.0]), words_N).tolist() == [0.0, 0.0, 0.0, 0.0]
    # Known now: word 1 costs 3, word 2 costs 1. Costs 2 and 2: advantages 1 and -1, which are -1 and 1 of a
    # spread of 1.
    assert expectation.advantage(torch.tensor([2.0, 2.0]), torch.tensor([1, 2])).tolist() == pytest.approx(
        [1.0, -1.0]
    )


def routing_of(indices: list[list[int]], gates: list[list[float]]) -> Routing:
    nothing = torch.zeros(len(indices), 1)
    return Routing(torch.tensor(indices), torch.tensor(gates), nothing, nothing, torch.zeros(()))


def test_the_gain_of_an_expert_follows_its_tokens() -> None:
    lever = GainLever(decoder_of().some_layers()[0])
    routing = routing_of([[0, 1], [1, 2]], [[1.0, 1.0], [1.0, 0.0]])
    lever.see_(routing, torch.tensor([1.0, -1.0]), torch.tensor([True, True]))
    lever.move_(2.0)
    expected = [2 * GAIN_RATE, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert lever.log_gain_E.tolist() == pytest.approx(expected)
    acted = lever.act(routing)
    assert acted.gates_TK[0].tolist() == pytest.approx([math.exp(2 * GAIN_RATE), 1.0])
    for _ in range(100):
        lever.see_(routing, torch.tensor([1.0, -1.0]), torch.tensor([True, True]))
        lever.move_(50.0)
    assert float(lever.log_gain_E.abs().max()) <= GAIN_BOUND + 1e-6


def test_the_temperature_rises_where_flat_gates_went_well_and_is_bounded() -> None:
    layer = decoder_of().some_layers()[0].eval()
    start = float(layer.router.temperature())
    lever = TemperatureLever(layer)
    routing = routing_of([[0, 1], [0, 1]], [[0.5, 0.5], [0.99, 0.01]])
    lever.see_(routing, torch.tensor([1.0, -1.0]), torch.tensor([True, True]))
    lever.move_(1.0)
    assert lever.offset > 0
    assert float(layer.router.temperature()) == pytest.approx(start * math.exp(lever.offset))
    lever.set_(99.0)
    assert lever.offset == TEMPERATURE_BOUND
    lever.set_(math.nan)
    assert lever.offset == TEMPERATURE_BOUND
    lever.undo_()
    assert float(layer.router.temperature()) == start


def test_the_cache_mixes_counts_into_the_prediction() -> None:
    """Three of four words read were word 2. Its share is 0.95 * 3/4 + 0.05/10; the first token of a row has
    the prior weight."""
    memory = WordMemory(10, torch.device("cpu"))
    nats_BT, targets_BT = torch.full((1, 4), 2.0), torch.tensor([[2, 2, 5, 2]])
    counted_BT = torch.ones_like(targets_BT, dtype=torch.bool)
    assert torch.equal(memory.mixed(nats_BT, targets_BT, counted_BT, None), nats_BT)
    memory.see_(counted_BT, nats_BT, nats_BT, targets_BT, None)
    assert torch.equal(memory.mixed(nats_BT, targets_BT, counted_BT, None), nats_BT), (
        "nothing is remembered before the update"
    )
    memory.move_()
    share, weight = 0.95 * 0.75 + 0.005, memory.weight
    expected = -math.log((1 - weight) * math.exp(-2) + weight * share)
    mixed_BT = memory.mixed(nats_BT, targets_BT, counted_BT, None)
    assert float(mixed_BT[0, 0]) == pytest.approx(expected, rel=1e-5)
    # The second token trusts the memory more: by the odds at which it beat the model on the first.
    odds = weight / (1 - weight) * share / math.exp(-2)
    weight = odds / (1 + odds)
    assert float(mixed_BT[0, 1]) == pytest.approx(
        -math.log((1 - weight) * math.exp(-2) + weight * share), rel=1e-5
    )


def test_the_memory_of_an_expert_knows_its_own_words() -> None:
    memory = WordMemory(10, torch.device("cpu"), num_slots=3)
    targets_BT, counted_BT = torch.tensor([[4] * 500 + [5] * 500]), torch.ones(1, 1000, dtype=torch.bool)
    slots = MemorySlots(
        torch.tensor([[[0]] * 500 + [[1]] * 500]), torch.ones(1, 1000, 1, dtype=torch.float64)
    )
    nats_BT = torch.full((1, 1000), 3.0)
    memory.see_(counted_BT, nats_BT, nats_BT, targets_BT, slots)
    memory.move_()
    queried = MemorySlots(torch.tensor([[[0], [1], [2]]]), torch.ones(1, 3, 1, dtype=torch.float64))
    own, others, unused = memory._shares(torch.tensor([[4, 4, 4]]), queried)[0].tolist()
    back = 0.95 * 0.5 + 0.005
    assert [own, others, unused] == pytest.approx([(500 + 200 * back) / 700, 200 * back / 700, back])


def test_a_bigram_memory_counts_what_followed_each_word() -> None:
    """Word 3 was followed by 4 six times and by 5 twice. Five pseudo-counts follow the shares of all."""
    memory = WordMemory(10, torch.device("cpu"), num_slots=10, backoff=5.0)
    words_BT, targets_BT = torch.tensor([[3] * 8 + [6] * 8]), torch.tensor([[4] * 6 + [5] * 2 + [7] * 8])
    counted_BT, nats_BT = torch.ones(1, 16, dtype=torch.bool), torch.full((1, 16), 3.0)
    memory.see_(counted_BT, nats_BT, nats_BT, targets_BT, MemorySlots.of_words(words_BT, 10))
    memory.move_()
    asked = MemorySlots.of_words(torch.tensor([[3, 6, 8]]), 10)
    found = memory._shares(torch.tensor([[4, 4, 4]]), asked)[0].tolist()
    back = 0.95 * 6 / 16 + 0.005
    assert found == pytest.approx([(6 + 5 * back) / 13, 5 * back / 13, back])


def test_a_bigram_memory_of_a_large_vocabulary_shares_counts() -> None:
    assert bigram_slots(2048) == 2048
    assert bigram_slots(50_000) == MOST_COUNTS // 50_000 < 50_000
    slots = MemorySlots.of_words(torch.tensor([[49_999]]), bigram_slots(50_000))
    assert int(slots.slots_BTK) == 49_999 % bigram_slots(50_000)


def test_the_weight_of_a_token_knows_nothing_of_later_ones() -> None:
    memory = WordMemory(10, torch.device("cpu"))
    targets_BT = torch.randint(2, 10, (2, 2 * RECENT + 5), generator=torch.Generator().manual_seed(1))
    nats_BT = torch.rand(targets_BT.shape, generator=torch.Generator().manual_seed(2)) * 4
    counted_BT = torch.ones_like(targets_BT, dtype=torch.bool)
    memory.see_(counted_BT, nats_BT, nats_BT, targets_BT, None)
    memory.move_()
    whole_BT = memory.mixed(nats_BT, targets_BT, counted_BT, None)
    for place in (1, RECENT, 2 * RECENT):
        other_nats, other_targets = nats_BT.clone(), targets_BT.clone()
        other_nats[:, place:], other_targets[:, place:] = 9.0, 3
        changed_BT = memory.mixed(other_nats, other_targets, counted_BT, None)
        assert torch.allclose(whole_BT[:, :place], changed_BT[:, :place], atol=1e-6)


def test_windows_hold_every_token_once() -> None:
    scores = [Score(2.0 * n, n, 3 * n) for n in (5, 1, 9, 3, 7, 2)]
    gathered = windows(scores, 3)
    assert len(gathered) == 3
    assert sum(score.num_tokens for score in gathered) == 27
    assert all(score.loss == pytest.approx(2.0) for score in gathered)
    assert gathered[0].bits_per_byte == pytest.approx(2 / 3 / math.log(2))
    assert windows(scores[:1], 4) == [scores[0]]


def test_pairs_of_sub_keys_are_refused() -> None:
    model = Decoder(override(config_of(), {"experts.num_experts": 16, "router.keys": "product"}))
    with pytest.raises(ConfigError, match=r"router.keys.*share sub-keys"):
        adapting(model)
