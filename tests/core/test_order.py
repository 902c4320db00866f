"""A rule of one's own takes one function and one line in the order: it acts, rests and is refused like the
others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from somelab.config import GravityConfig
from somelab.core.gravity import ORDER, KeyState, Moment, Rule
from somelab.core.keystore import KeyStore
from somelab.core.statistics import RoutingStatistics
from somelab.errors import ConfigError
from tests.core.builders import QUIET, routing_of, seen_of

DIRECTION_D = torch.tensor([0.6, -0.8])


def wind(state: KeyState, seen: RoutingStatistics, now: Moment) -> KeyState:
    """k_i += rate * direction for every key. rate = `gravity.extra.wind`."""
    return replace(state, keys_ED=state.keys_ED + now.extra("wind") * DIRECTION_D)


@pytest.fixture
def order() -> Iterator[list[Rule]]:
    """The order, put back afterwards."""
    kept = list(ORDER)
    yield ORDER
    ORDER[:] = kept


def drift_of_one_step(config: GravityConfig, layer: int = 0) -> torch.Tensor:
    store = KeyStore(3, 2, config, seed=0, layer=layer, num_layers=2)
    before_ED = store.keys_ED.clone()
    store.apply_(seen_of(config, 3, routing_of([[0, 1]], [[1.0, 0.0]])))
    return store.keys_ED - before_ED


@pytest.mark.parametrize("place", range(len(ORDER) + 1))
def test_a_new_rule_acts_wherever_it_stands(order: list[Rule], place: int) -> None:
    order.insert(place, Rule(wind, extra=("wind",)))
    drift_ED = drift_of_one_step(GravityConfig(**QUIET, extra={"wind": 0.1}))
    torch.testing.assert_close(drift_ED, torch.tensor([[0.06, -0.08]] * 3))


def test_a_rule_at_the_end_adds_to_what_the_others_did(order: list[Rule]) -> None:
    """After `smoothing` the state holds an older copy of the moved keys, which must not be written over the
    newest ones."""
    moving: dict[str, Any] = {**QUIET, "attraction": True, "alpha": 0.3}
    still_ED = drift_of_one_step(GravityConfig(**moving))
    assert still_ED.any()
    order.append(Rule(wind, extra=("wind",)))
    blown_ED = drift_of_one_step(GravityConfig(**moving, extra={"wind": 0.1}))
    torch.testing.assert_close(blown_ED - still_ED, torch.tensor([[0.06, -0.08]] * 3))


def test_without_its_rate_it_does_nothing(order: list[Rule]) -> None:
    order.insert(3, Rule(wind, extra=("wind",)))
    assert not drift_of_one_step(GravityConfig(**QUIET)).any()


def test_it_rests_where_keys_do_not_move(order: list[Rule]) -> None:
    order.insert(3, Rule(wind, extra=("wind",)))
    blown = GravityConfig(**QUIET, extra={"wind": 0.1}, frozen_layers=(False, True))
    assert drift_of_one_step(blown, layer=0).any()
    assert not drift_of_one_step(blown, layer=1).any()
    assert not drift_of_one_step(GravityConfig(**QUIET, keys="fixed", extra={"wind": 0.1})).any()


def test_the_step_cap_and_the_norm_hold_for_it(order: list[Rule]) -> None:
    order.insert(3, Rule(wind, extra=("wind",)))
    capped = drift_of_one_step(GravityConfig(**QUIET, extra={"wind": 0.5}, max_step=0.1))
    torch.testing.assert_close(capped.norm(dim=1), torch.full((3,), 0.1))


def test_a_name_that_no_rule_declares_is_refused(order: list[Rule]) -> None:
    with pytest.raises(ConfigError, match=r"gravity\.extra\.wind = 0\.1: no rule of that name"):
        KeyStore(3, 2, GravityConfig(extra={"wind": 0.1}), seed=0)
    order.insert(3, Rule(wind, extra=("wind",)))
    KeyStore(3, 2, GravityConfig(extra={"wind": 0.1}), seed=0)
    with pytest.raises(ConfigError, match=r"gravity\.extra\.winds = 0\.1.*did you mean wind\?"):
        KeyStore(3, 2, GravityConfig(extra={"winds": 0.1}), seed=0)


def test_the_published_order() -> None:
    """As in the reports: usage, attraction, peer-pull, norm, decay, respawn; the additions stand between
    them."""
    names = [rule.act.__name__ for rule in ORDER]
    published = ["usage", "attraction", "peer_pull", "norm", "decay", "respawn"]
    assert [name for name in names if name in published] == published
    moving = {rule.act.__name__ for rule in ORDER if rule.moves_keys}
    assert moving == {
        "attraction",
        "credit",
        "peer_pull",
        "repulsion",
        "step_cap",
        "norm",
        "decay",
        "respawn",
    }
