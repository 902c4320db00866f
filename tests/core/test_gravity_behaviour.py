"""What the rules do over several steps: the immortal expert, decay that lasts, rebirth, and the switches.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from somelab.config import GravityConfig
from somelab.core.gravity import apply_rules, by_depth
from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.respawn import respawn
from somelab.core.keystore import GravityReport, KeyStore
from somelab.core.statistics import RoutingStatistics
from tests.core.builders import QUIET, moment_of, random, routing_of, seen_of, state_of

NUM_EXPERTS, D_MODEL = 6, 8
IDLE = [4, 5]
"""Experts that no token of `one_step_` ever chooses."""


def make_store(**settings: Any) -> KeyStore:
    return KeyStore(NUM_EXPERTS, D_MODEL, GravityConfig(**settings), seed=0)


def one_step_(store: KeyStore, seed: int = 0, num_tokens: int = 12) -> tuple[GravityReport, Tensor]:
    """A step in which random unit queries choose among experts 0 to 3. Returns what happened, and the
    queries."""
    rng = random(seed)
    queries_TD = torch.nn.functional.normalize(torch.randn(num_tokens, D_MODEL, generator=rng), dim=1)
    indices_TK = torch.rand(num_tokens, 4, generator=rng).topk(2, dim=1).indices
    seen = RoutingStatistics(NUM_EXPERTS, D_MODEL, store.config, seed=store.seed)
    seen.add_(routing_of(indices_TK, queries_TD), step=store.step, counted_T=None, token_index_T=None)
    report = store.apply_(seen)
    assert report is not None
    return report, queries_TD


SHRINKING: dict[str, Any] = {
    **QUIET,
    "decay": True,
    "delta": 0.2,
    "theta": 0.01,
    "theta_percentile": None,
    "warmup_steps": 0,
}


def lengths_after(num_steps: int, norm: str) -> list[Tensor]:
    store = make_store(**{**SHRINKING, "norm": norm})
    lengths: list[Tensor] = []
    for step in range(num_steps):
        one_step_(store, seed=step)
        lengths.append(store.keys_ED.norm(dim=1))
    return lengths


def test_under_unit_the_next_step_undoes_decay() -> None:
    for length_E in lengths_after(4, "unit"):
        # Never less: the immortal expert.
        torch.testing.assert_close(length_E[IDLE], torch.tensor([0.8, 0.8]))
        torch.testing.assert_close(length_E[:4], torch.ones(4))


@pytest.mark.parametrize("norm", ["clamp", "none", "unit_used"])
def test_elsewhere_decay_lasts(norm: str) -> None:
    for step, length_E in enumerate(lengths_after(4, norm), start=1):
        torch.testing.assert_close(length_E[IDLE], torch.full((2,), 0.8**step))


def test_unit_used_restores_the_keys_that_were_used() -> None:
    used, clamped = make_store(**{**QUIET, "norm": "unit_used"}), make_store(**{**QUIET, "norm": "clamp"})
    for store in (used, clamped):
        store.keys_ED.mul_(0.5)
        one_step_(store)
    torch.testing.assert_close(used.keys_ED.norm(dim=1), torch.tensor([1.0, 1.0, 1.0, 1.0, 0.5, 0.5]))
    torch.testing.assert_close(clamped.keys_ED.norm(dim=1), torch.full((6,), 0.5))


def test_decay_waits_for_its_warm_up() -> None:
    store = make_store(**{**SHRINKING, "warmup_steps": 2})
    for step, wanted in enumerate([1.0, 1.0, 0.8, 0.64]):
        one_step_(store, seed=step)
        torch.testing.assert_close(store.keys_ED[4].norm(), torch.tensor(wanted))


PHOENIX: dict[str, Any] = {**QUIET, "respawn": True, "load_bias": 0.01, "ema_decay": 0.5}


def test_a_reborn_key_has_no_past() -> None:
    store = make_store(**PHOENIX)
    store.step = 17
    store.keys_ED[1] *= 0.05
    store.keys_ED[4] *= 0.09
    store.keys_ED[5] *= 0.11  # above the threshold: lives on
    store.usage_E.fill_(3.0)
    store.mass_E.fill_(2.0)
    store.load_bias_E.fill_(0.5)
    old_ED = store.keys_ED.clone()
    report, queries_TD = one_step_(store)
    assert report.reborn == (1, 4)
    assert store.born_E.tolist() == [-1, 17, -1, -1, 17, -1]
    reborn = [1, 4]
    torch.testing.assert_close(store.keys_ED[reborn].norm(dim=1), torch.ones(2))
    for companion in (store.usage_E, store.mass_E, store.load_bias_E):
        assert not companion[reborn].any()
        assert companion[[0, 2, 3, 5]].all()
    nearest_R, which_R = torch.cdist(store.keys_ED[reborn], queries_TD).min(dim=1)
    assert float(nearest_R.max()) < 0.1, "at a query of this step, but for noise of 0.01"
    assert float(nearest_R.min()) > 1e-4, "noise was added"
    assert which_R.unique().numel() == 2, "each takes another query"
    assert torch.equal(store.keys_ED[[0, 2, 3, 5]], old_ED[[0, 2, 3, 5]])
    assert report.max_drift == 0.0, "a rebirth is no drift"
    assert int(store.respawns) == 2


def test_respawn_noise_is_a_setting() -> None:
    store = make_store(**PHOENIX, respawn_noise=0.0)
    store.keys_ED[4] *= 0.01
    _, queries_TD = one_step_(store)
    torch.testing.assert_close(
        torch.cdist(store.keys_ED[4:5], queries_TD).min(), torch.tensor(0.0), rtol=0, atol=1e-5
    )


def test_rebirth_repeats_and_differs_by_seed() -> None:
    keys: list[Tensor] = []
    for seed in (0, 0, 1):
        store = KeyStore(NUM_EXPERTS, D_MODEL, GravityConfig(**PHOENIX), seed=seed)
        store.keys_ED[4] *= 0.01
        one_step_(store)
        keys.append(store.keys_ED[4].clone())
    assert torch.equal(keys[0], keys[1])
    assert not torch.equal(keys[0], keys[2])


def test_every_step_draws_noise_of_its_own() -> None:
    """Two keys respawned at the same query in two steps: the noise separates them."""
    config = GravityConfig(**PHOENIX)
    state = state_of([[1.0, 0.0], [0.0, 0.01]])
    seen = seen_of(config, 2, routing_of([[0]], [[0.6, 0.8]]))
    first, second, again = (
        respawn(state, seen, moment_of(config, state, step=step)).keys_ED[1] for step in (3, 4, 3)
    )
    assert not torch.equal(first, second)
    assert torch.equal(first, again)


def test_more_dead_keys_than_queries_share_them() -> None:
    store = make_store(**PHOENIX)
    store.keys_ED.mul_(0.01)
    report, queries_TD = one_step_(store, num_tokens=2)
    assert report.reborn == (0, 1, 2, 3, 4, 5)
    assert float(torch.cdist(store.keys_ED, queries_TD).min(dim=1).values.max()) < 0.1
    assert torch.cdist(store.keys_ED, store.keys_ED).fill_diagonal_(1.0).min() > 0, "noise keeps them apart"


def test_a_dead_key_waits_for_a_query() -> None:
    store = make_store(**PHOENIX)
    store.keys_ED[4] *= 0.01
    old_D = store.keys_ED[4].clone()
    report, _ = one_step_(store, num_tokens=0)
    assert report.reborn == ()
    assert torch.equal(store.keys_ED[4], old_D)


def test_uncounted_tokens_do_not_offer_a_place_to_be_reborn() -> None:
    config = GravityConfig(**PHOENIX, respawn_noise=0.0)
    state = state_of([[1.0, 0.0], [0.0, 0.01]])
    routing = routing_of([[0], [0], [0]], [[1.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    seen = seen_of(config, 2, routing, counted=[False, True, False])
    torch.testing.assert_close(
        respawn(state, seen, moment_of(config, state)).keys_ED[1], torch.tensor([0.6, 0.8])
    )


def test_a_reborn_key_is_found_at_once_under_key_ema() -> None:
    store = make_store(**PHOENIX, key_ema=0.99)
    store.keys_ED[4] *= 0.01
    one_step_(store)
    torch.testing.assert_close(store.routing_keys_ED[4], store.keys_ED[4])


def test_the_early_rate_of_attraction_is_capped() -> None:
    """At r = 0.995 the first step has u = 0.005 n: for many tokens alpha n / (1 + u) tends to alpha / (1 - r)
    = 3."""
    config = GravityConfig(alpha=0.015, ema_decay=0.995)
    state = state_of([[1.0, 0.0], [0.0, 1.0]], [0.005 * 100_000, 0.0])
    seen = seen_of(config, 2, routing_of([[0]], [[0.0, 1.0]]))
    seen.count_E.mul_(100_000)
    seen.pull_weight_E.mul_(100_000)
    seen.pull_sum_ED.mul_(100_000)
    after = attraction(state, seen, moment_of(config, state))
    # Lands on the query, not at (-2, 3).
    torch.testing.assert_close(after.keys_ED, torch.tensor([[0.0, 1.0], [0.0, 1.0]]))


@pytest.mark.parametrize("name", ["attraction", "peer_pull", "decay", "respawn"])
def test_each_switch_stops_its_own_rule(name: str) -> None:
    """With everything on, keys move; with one switch off, they move otherwise; with all off, not at all."""
    lively: dict[str, Any] = {
        "alpha": 0.3,
        "beta": 0.3,
        "delta": 0.95,
        "theta": 0.01,
        "theta_percentile": None,
        "warmup_steps": 0,
        "respawn": True,
        "norm": "none",
    }
    silent = dict.fromkeys(["attraction", "peer_pull", "decay", "respawn"], False)
    moved = []
    for settings in (lively, {**lively, name: False}, {**lively, **silent}, {**lively, **silent, name: True}):
        store = make_store(**settings)
        before_ED = store.keys_ED.clone()
        if settings.get(name, True) and name == "respawn" and not settings.get("decay", True):
            before_ED[4] *= 0.01
            store.keys_ED.copy_(before_ED)
        one_step_(store)
        moved.append(store.keys_ED - before_ED)
    everything, without, nothing, alone = moved
    assert everything.any()
    assert not torch.equal(everything, without)
    assert not nothing.any()
    assert alone.any()


def test_frozen_layers_keep_their_keys_and_count_their_use() -> None:
    config = GravityConfig(frozen_layers=(False, True), load_bias=0.01, respawn=True)
    for layer in range(4):
        store = KeyStore(NUM_EXPERTS, D_MODEL, config, seed=0, layer=layer, num_layers=4)
        before_ED = store.keys_ED.clone()
        one_step_(store)
        assert torch.equal(store.keys_ED, before_ED) == (layer >= 2)
        assert store.usage_E.any()
        assert store.load_bias_E.any()


@pytest.mark.parametrize(
    ("values", "num_layers", "wanted"),
    [
        ((1,), 3, [1, 1, 1]),
        ((1, 2), 4, [1, 1, 2, 2]),
        ((1, 2), 5, [1, 1, 1, 2, 2]),
        ((1, 2, 3), 6, [1, 1, 2, 2, 3, 3]),
    ],
)
def test_values_over_the_depth(values: tuple[int, ...], num_layers: int, wanted: list[int]) -> None:
    assert [by_depth(values, layer, num_layers) for layer in range(num_layers)] == wanted


def test_rules_do_not_change_what_they_are_given() -> None:
    config = GravityConfig(
        alpha=0.3, beta=0.3, repulsion=0.1, repulsion_distance=2.0, max_step=0.1, delta=0.95, warmup_steps=0,
        respawn=True, respawn_threshold=0.5, load_bias=0.01, key_ema=0.5, norm="clamp",
    )  # fmt: skip
    state = state_of([[1.0, 0.0], [0.0, 1.0], [0.0, 0.1]], [1.0, 2.0, 0.0])
    seen = seen_of(config, 3, routing_of([[0, 1]], [[0.6, 0.8]]), centre=True)
    copies = {name: value.clone() for name, value in vars(state).items()}
    sums = {name: getattr(seen, name).clone() for name in seen.additive}
    after = apply_rules(state, seen, moment_of(config, state))
    assert not torch.equal(after.keys_ED, state.keys_ED)
    assert all(torch.equal(getattr(state, name), value) for name, value in copies.items())
    assert all(torch.equal(getattr(seen, name), value) for name, value in sums.items())
