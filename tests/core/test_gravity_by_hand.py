"""Each rule on three keys in the plane, with numbers worked out on paper.

Unless a test says otherwise: keys (1, 0), (0, 1), (-1, 0); two tokens, both routed to experts 0 and 1:
    query (0.6, 0.8) with gates 0.75, 0.25        query (1, 0) with gates 0.5, 0.5
so n = (2, 2, 0), m = (1.25, 0.75, 0), S_0 = S_1 = (1.6, 0.8), C_01 = C_10 = 2.
Usage before the step: (2, 0, 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from somelab.config import GravityConfig
from somelab.core.gravity import KeyState, apply_rules
from somelab.core.gravity.attraction import attraction
from somelab.core.gravity.centring import centring
from somelab.core.gravity.decay import decay, threshold
from somelab.core.gravity.load_bias import load_bias
from somelab.core.gravity.norm import norm
from somelab.core.gravity.peer_pull import peer_pull
from somelab.core.gravity.repulsion import repulsion
from somelab.core.gravity.smoothing import smoothing
from somelab.core.gravity.step_cap import step_cap
from somelab.core.gravity.usage import usage
from somelab.core.statistics import RoutingStatistics
from tests.core.builders import moment_of, routing_of, seen_of, state_of

KEYS = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
EXPERTS = [[0, 1], [0, 1]]
QUERIES = [[0.6, 0.8], [1.0, 0.0]]
GATES = [[0.75, 0.25], [0.5, 0.5]]
USAGE = [2.0, 1.0, 2.0]
"""Usage after the usage rule with r = 0.5: what the later rules see."""


def step_seen(config: GravityConfig, **options: Any) -> RoutingStatistics:
    return seen_of(config, 3, routing_of(EXPERTS, QUERIES, GATES), **options)


def check(values: torch.Tensor, wanted: Sequence[Any]) -> None:
    torch.testing.assert_close(values, torch.tensor(wanted), rtol=0, atol=1e-6)


def test_statistics() -> None:
    seen = step_seen(GravityConfig())
    check(seen.count_E, [2.0, 2.0, 0.0])
    check(seen.mass_E, [1.25, 0.75, 0.0])
    check(seen.pull_sum_ED, [[1.6, 0.8], [1.6, 0.8], [0.0, 0.0]])
    check(seen.pull_weight_E, [2.0, 2.0, 0.0])
    check(seen.pairs.dense(), [[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert float(seen.num_tokens) == 2


def test_statistics_of_one_counted_token() -> None:
    seen = step_seen(GravityConfig(), counted=[True, False])
    check(seen.count_E, [1.0, 1.0, 0.0])
    check(seen.mass_E, [0.75, 0.25, 0.0])
    check(seen.pull_sum_ED, [[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]])
    check(seen.pairs.dense(), [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert float(seen.num_tokens) == 1


def test_usage_as_a_moving_average() -> None:
    # 0.5 * (2, 0, 4) + 0.5 * (2, 2, 0); mass from 0: 0.5 * (1.25, 0.75, 0)
    config = GravityConfig(ema_decay=0.5)
    state = state_of(KEYS, [2.0, 0.0, 4.0])
    after = usage(state, step_seen(config), moment_of(config, state))
    check(after.usage_E, [2.0, 1.0, 2.0])
    check(after.mass_E, [0.625, 0.375, 0.0])


def test_usage_since_the_start() -> None:
    # (2, 0, 4) + (2, 2, 0)
    config = GravityConfig(usage="cumulative")
    state = state_of(KEYS, [2.0, 0.0, 4.0])
    after = usage(state, step_seen(config), moment_of(config, state))
    check(after.usage_E, [4.0, 2.0, 4.0])
    check(after.mass_E, [1.25, 0.75, 0.0])


def after_attraction(**settings: Any) -> KeyState:
    config = GravityConfig(**settings)
    state = state_of(KEYS, USAGE)
    return attraction(state, step_seen(config), moment_of(config, state))


def test_attraction_by_all() -> None:
    # a_0 = 0.3 * 2 / (1 + 2) = 0.2, a_1 = 0.3 * 2 / (1 + 1) = 0.3; both towards (0.8, 0.4)
    # k_0 = (1, 0) + 0.2 (-0.2, 0.4); k_1 = (0, 1) + 0.3 (0.8, -0.6); k_2 has no query and stays
    check(after_attraction(alpha=0.3).keys_ED, [[0.96, 0.08], [0.24, 0.82], [-1.0, 0.0]])


def test_attraction_by_the_winner() -> None:
    # Expert 0 comes first for both tokens, so it alone moves, as above.
    check(
        after_attraction(alpha=0.3, attraction_by="winner").keys_ED, [[0.96, 0.08], [0.0, 1.0], [-1.0, 0.0]]
    )


def test_attraction_by_gate() -> None:
    # Expert 0: weight 0.75 + 0.5 = 1.25, sum 0.75 (0.6, 0.8) + 0.5 (1, 0) = (0.95, 0.6), mean (0.76, 0.48);
    #   a = 0.3 * 1.25 / 3 = 0.125: (1, 0) + 0.125 (-0.24, 0.48) = (0.97, 0.06)
    # Expert 1: weight 0.75, sum 0.25 (0.6, 0.8) + 0.5 (1, 0) = (0.65, 0.2), a = 0.3 * 0.75 / 2 = 0.1125;
    #   (0, 1) + 0.1125 (0.65 / 0.75, 0.2 / 0.75 - 1) = (0.0975, 1 - 0.0825)
    check(
        after_attraction(alpha=0.3, attraction_by="gate").keys_ED,
        [[0.97, 0.06], [0.0975, 0.9175], [-1.0, 0.0]],
    )


def test_attraction_is_capped_at_one() -> None:
    # alpha 30 would give a_0 = 20: without the cap the key would fly past its queries. With it, it lands on
    # their mean.
    check(after_attraction(alpha=30.0).keys_ED, [[0.8, 0.4], [0.8, 0.4], [-1.0, 0.0]])


def test_the_floor_lifts_chosen_keys_only() -> None:
    # alpha 0.3 gives 0.2 and 0.3; a floor of 0.25 lifts the first: (1, 0) + 0.25 (-0.2, 0.4). Key 2 was not
    # chosen.
    check(after_attraction(alpha=0.3, alpha_floor=0.25).keys_ED, [[0.95, 0.1], [0.24, 0.82], [-1.0, 0.0]])


def after_pull(*, progress: float = 0.0, layer: int = 0, depth: int = 1, **settings: Any) -> KeyState:
    config = GravityConfig(**settings)
    state = state_of(KEYS, USAGE)
    return peer_pull(
        state, step_seen(config), moment_of(config, state, progress=progress, layer=layer, depth=depth)
    )


def test_peer_pull_slowed_by_the_more_used() -> None:
    # W_01 = W_10 = 0.15 * 2 / (1 + max(2, 1)) = 0.1; k_0 += 0.1 (-1, 1), k_1 += 0.1 (1, -1)
    check(after_pull(beta=0.15, inertia="max").keys_ED, [[0.9, 0.1], [0.1, 0.9], [-1.0, 0.0]])


def test_peer_pull_slowed_by_the_less_used() -> None:
    # W = 0.15 * 2 / (1 + min(2, 1)) = 0.15
    check(after_pull(beta=0.15, inertia="min").keys_ED, [[0.85, 0.15], [0.15, 0.85], [-1.0, 0.0]])


def test_peer_pull_is_capped_at_the_peer() -> None:
    # beta 6 gives W = 4; capped at 1 each key lands where the other was.
    check(after_pull(beta=6.0).keys_ED, [[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])


def test_the_cap_is_on_a_keys_whole_pull() -> None:
    # One token that chose all three, u = 0: W = 0.8 for each pair, 1.6 for each row, so 0.5 each after the
    # cap. k_0 = (1, 0) + 0.5 ((0, 1) - (1, 0)) + 0.5 ((-1, 0) - (1, 0)) = (-0.5, 0.5) k_1 = (0, 1) + 0.5 (1,
    # -1) + 0.5 (-1, -1) = (0, 0); k_2 = (-1, 0) + 0.5 (2, 0) + 0.5 (1, 1) = (0.5, 0.5)
    config = GravityConfig(beta=0.8)
    state = state_of(KEYS)
    seen = seen_of(config, 3, routing_of([[0, 1, 2]], [[1.0, 0.0]]))
    check(peer_pull(state, seen, moment_of(config, state)).keys_ED, [[-0.5, 0.5], [0.0, 0.0], [0.5, 0.5]])


@pytest.mark.parametrize(("limit", "pulls"), [(0.1, True), (0.0, True), (-0.1, False)])
def test_peer_pull_stops_above_a_cosine(limit: float, pulls: bool) -> None:
    # The two keys are at a right angle, cosine 0: at the limit they still pull, above it no more.
    keys = [[0.9, 0.1], [0.1, 0.9], [-1.0, 0.0]] if pulls else KEYS
    check(after_pull(beta=0.15, pull_until_cosine=limit).keys_ED, keys)


def test_beta_follows_the_run_and_the_depth() -> None:
    # From 0.15 to 0.05 half-way: 0.1, W = 0.2 / 3; times 0.75 in the second half of four layers: W = 0.05.
    scaled: dict[str, Any] = {
        "beta": 0.15,
        "beta_final": 0.05,
        "beta_layers": (1.0, 0.75),
        "progress": 0.5,
        "depth": 4,
    }
    check(after_pull(layer=1, **scaled).keys_ED[0], [1 - 0.2 / 3, 0.2 / 3])
    check(after_pull(layer=2, **scaled).keys_ED[0], [0.95, 0.05])


def test_beta_may_rise_from_nothing() -> None:
    # From 0 to 0.3, half-way: 0.15, as in the first test of peer-pull.
    check(after_pull(beta=0.0, beta_final=0.3, progress=0.5).keys_ED, [[0.9, 0.1], [0.1, 0.9], [-1.0, 0.0]])


def test_repulsion() -> None:
    # Keys 0.3 apart, reach 0.5: each is pushed by 0.2 * (1 - 0.3 / 0.5) = 0.08 along the line between them.
    # The third key is 0.4 from the second, on its other side: 0.2 * (1 - 0.4 / 0.5) = 0.04. First and third:
    # 0.7, too far.
    config = GravityConfig(repulsion=0.2, repulsion_distance=0.5)
    state = state_of([[0.0, 1.0], [0.3, 1.0], [0.7, 1.0]])
    after = repulsion(state, step_seen(config), moment_of(config, state))
    check(after.keys_ED, [[-0.08, 1.0], [0.3 + 0.08 - 0.04, 1.0], [0.74, 1.0]])


def test_keys_in_one_place_do_not_repel() -> None:
    config = GravityConfig(repulsion=0.2)
    state = state_of([[0.6, 0.8], [0.6, 0.8], [-1.0, 0.0]])
    check(
        repulsion(state, step_seen(config), moment_of(config, state)).keys_ED,
        [[0.6, 0.8], [0.6, 0.8], [-1.0, 0.0]],
    )


def test_step_cap() -> None:
    # (1, 0) -> (1.3, 0.4) is a step of 0.5; capped at 0.1 a fifth of it is left. A step of 0.05 is short
    # enough.
    config = GravityConfig(max_step=0.1)
    start = state_of(KEYS)
    moved = state_of([[1.3, 0.4], [0.0, 1.05], [-1.0, 0.0]])
    check(
        step_cap(moved, step_seen(config), moment_of(config, start)).keys_ED,
        [[1.06, 0.08], [0.0, 1.05], [-1.0, 0.0]],
    )


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ("unit", [[0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]]),
        ("unit_used", [[0.6, 0.8], [0.0, 1.0], [-0.5, 0.0]]),  # expert 2 was not chosen in this step
        ("clamp", [[0.6, 0.8], [0.0, 0.5], [-0.5, 0.0]]),
        ("none", [[1.2, 1.6], [0.0, 0.5], [-0.5, 0.0]]),
    ],
)
def test_norm(policy: str, wanted: list[list[float]]) -> None:
    # Lengths 2, 0.5, 0.5.
    config = GravityConfig(norm=policy)  # pyright: ignore[reportArgumentType]
    state = state_of([[1.2, 1.6], [0.0, 0.5], [-0.5, 0.0]])
    check(norm(state, step_seen(config), moment_of(config, state)).keys_ED, wanted)


@pytest.mark.parametrize(
    ("settings", "theta", "weak"),
    [
        ({"theta": 3.0, "theta_percentile": None}, 3.0, [True, False, True]),  # 3 is not below 3
        # Of (3, 5): 3 + 0.25 * 2; the zero does not count.
        ({"theta_percentile": 0.25}, 3.5, [True, False, True]),
        ({"theta_percentile": 0.0}, 3.0, [True, False, False]),
        ({"theta_percentile": 1.0}, 5.0, [True, False, True]),
    ],
)
def test_decay(settings: dict[str, Any], theta: float, weak: list[bool]) -> None:
    usage_E = [0.0, 5.0, 3.0] if settings.get("theta") is None else [2.9, 5.0, 2.0]
    config = GravityConfig(delta=0.25, warmup_steps=10, **settings)
    state = state_of(KEYS, usage_E)
    assert float(threshold(state.usage_E, moment_of(config, state))) == theta
    shrunk = [[x * 0.75 for x in key] if low else key for key, low in zip(KEYS, weak)]
    check(decay(state, step_seen(config), moment_of(config, state, step=10)).keys_ED, shrunk)
    check(decay(state, step_seen(config), moment_of(config, state, step=9)).keys_ED, KEYS)


def test_the_threshold_is_not_below_itself() -> None:
    config = GravityConfig(delta=0.25, warmup_steps=0, theta=2.0, theta_percentile=None)
    state = state_of(KEYS, [2.0, 1.9, 2.1])
    check(
        decay(state, step_seen(config), moment_of(config, state)).keys_ED,
        [[1.0, 0.0], [0.0, 0.75], [-1.0, 0.0]],
    )


def test_a_pool_without_any_use_does_not_decay() -> None:
    config = GravityConfig(delta=0.25, warmup_steps=0)
    state = state_of(KEYS)
    check(decay(state, step_seen(config), moment_of(config, state)).keys_ED, KEYS)


def test_load_bias() -> None:
    # n = (2, 2, 0), mean 4/3: down, down, up. A second step with n = (1, 1, 1) has nobody to correct.
    config = GravityConfig(load_bias=0.01)
    state = state_of(KEYS)
    after = load_bias(state, step_seen(config), moment_of(config, state))
    check(after.load_bias_E, [-0.01, -0.01, 0.01])
    even = seen_of(config, 3, routing_of([[0], [1], [2]], [[1.0, 0.0]] * 3))
    check(load_bias(after, even, moment_of(config, after)).load_bias_E, [-0.01, -0.01, 0.01])


def test_centring() -> None:
    # The mean of (0.6, 0.8) and (1, 0) is set outright, then it moves by 1 - r = 0.25 towards the next.
    config = GravityConfig(ema_decay=0.75)
    state = state_of(KEYS)
    after = centring(state, step_seen(config, centre=True), moment_of(config, state))
    check(after.query_mean_D, [0.8, 0.4])
    away = seen_of(config, 3, routing_of([[0, 1]], [[0.0, 0.0]], raw_queries=[[-0.8, 2.0]]), centre=True)
    check(centring(after, away, moment_of(config, after)).query_mean_D, [0.4, 0.8])


def test_smoothing() -> None:
    # 0.75 of where tokens looked before, 0.25 of where the key is now.
    config = GravityConfig(key_ema=0.75)
    state = state_of(KEYS)
    moved = KeyState(**{**vars(state), "keys_ED": torch.tensor([[1.0, 0.4], [0.0, 1.0], [-1.0, 0.0]])})
    check(
        smoothing(moved, step_seen(config), moment_of(config, state)).routing_keys_ED,
        [[1.0, 0.1], [0.0, 1.0], [-1.0, 0.0]],
    )


def test_a_whole_step_in_order() -> None:
    # r = 0.5 and usage (2, 0, 4) before: u = (2, 1, 2) for every later rule.
    # attraction, alpha 0.3: (0.96, 0.08), (0.24, 0.82), (-1, 0)
    # peer-pull, beta 0.15, max: W = 0.1: k_0 += 0.1 (-0.72, 0.74), k_1 += 0.1 (0.72, -0.74):
    #   (0.888, 0.154), (0.312, 0.746)
    # norm: lengths sqrt(0.788544 + 0.023716) = 0.9012547 and sqrt(0.097344 + 0.556516) = 0.8086161
    #   (0.9852930, 0.1708729), (0.3858444, 0.9225638), (-1, 0)
    # decay, theta 1.5, delta 0.1: only u_1 = 1 is below: (0.3472599, 0.8303074)
    config = GravityConfig(
        alpha=0.3,
        beta=0.15,
        ema_decay=0.5,
        theta=1.5,
        theta_percentile=None,
        delta=0.1,
        warmup_steps=0,
        norm="unit",
    )
    state = state_of(KEYS, [2.0, 0.0, 4.0])
    after = apply_rules(state, step_seen(config), moment_of(config, state))
    check(after.keys_ED, [[0.9852930, 0.1708729], [0.3472599, 0.8303074], [-1.0, 0.0]])
    check(after.usage_E, [2.0, 1.0, 2.0])
