"""The closed form of Knowledge Gravity equals its token-by-token version, for all rules under all settings.
The slow version is tests/core/slow_gravity.py, written from the specification alone."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from somelab.config import GravityConfig
from tests.core.slow_gravity import gather
from tests.property.gravity_worlds import (
    World,
    compare_run,
    config_of,
    counted_of,
    draw_tokens,
    routing_of_tokens,
    settings_of_rules,
    statistics_for,
    thetas,
    worlds,
)


@settings(max_examples=400)
@given(world=worlds(), chosen=settings_of_rules, theta=thetas, centre=st.booleans())
def test_any_settings_agree_with_the_slow_version(
    world: World, chosen: dict[str, Any], theta: dict[str, float], centre: bool
) -> None:
    assume(compare_run(world, config_of(chosen, theta), centre=centre))


CROSSED = list(
    product(
        ["ema", "cumulative"],
        ["min", "max"],
        ["unit", "unit_used", "clamp", "none"],
        [0.5, None],
        ["all", "winner", "gate"],
    )
)


@pytest.mark.parametrize(("usage", "inertia", "norm", "theta", "by"), CROSSED)
def test_every_crossing_of_the_versions_agrees(
    usage: Any, inertia: Any, norm: Any, theta: float | None, by: Any
) -> None:
    """All rules on, strong enough to be felt, in a world where experts compete."""
    config = GravityConfig(
        usage=usage,
        inertia=inertia,
        norm=norm,
        theta=theta,
        theta_percentile=0.3 if theta is None else None,
        attraction_by=by,
        alpha=0.4,
        credit=0.2,
        credit_final=0.05,
        beta=0.2,
        ema_decay=0.5,
        delta=0.4,
        warmup_steps=1,
        repulsion=0.1,
        repulsion_distance=1.0,
        max_step=0.6,
        respawn=True,
        respawn_threshold=0.3,
        load_bias=0.01,
        key_ema=0.5,
    )
    compared = 0
    for seed in range(6):
        world = World(
            num_experts=6,
            d_model=3,
            top_k=3,
            num_tokens=8,
            num_layers=1,
            layer=0,
            seed=seed,
            share_counted=0.8,
            used_before=seed > 1,
        )
        compared += compare_run(world, config, num_steps=4)
    assert compared >= 3


@settings(max_examples=100)
@given(
    world=worlds(), by=st.sampled_from(["all", "winner", "gate"]), pairs=st.sampled_from(["dense", "sparse"])
)
def test_statistics_agree_with_counting(world: World, by: Any, pairs: Any) -> None:
    tokens = draw_tokens(world, np.random.default_rng(world.seed))
    config = GravityConfig(attraction_by=by, pairs=pairs)
    seen = statistics_for(world, config, centre=True)
    seen.add_(routing_of_tokens(world, tokens), step=0, counted_T=counted_of(tokens), token_index_T=None)
    sums = gather(tokens, world.num_experts, world.d_model)
    assert seen.count_E.tolist() == sums.count
    assert seen.pairs.dense().tolist() == sums.together
    assert float(seen.num_tokens) == sum(token.counted for token in tokens)
    torch.testing.assert_close(seen.mass_E, torch.tensor(sums.mass), rtol=1e-5, atol=1e-6)
    if by == "all":
        assert seen.pull_weight_E.tolist() == sums.count
        torch.testing.assert_close(seen.pull_sum_ED, torch.tensor(sums.query_sum), rtol=1e-5, atol=1e-5)
    elif by == "gate":
        torch.testing.assert_close(seen.pull_weight_E, seen.mass_E, rtol=1e-5, atol=1e-6)
    else:
        winners = [0.0] * world.num_experts
        for token in tokens:
            winners[token.experts[0]] += token.counted
        assert seen.pull_weight_E.tolist() == winners
