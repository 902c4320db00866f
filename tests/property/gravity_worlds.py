"""Random small worlds for the comparison of gravity with its slow version: settings, addresses and a step's
tokens. Both sides get the same numbers; decisions that rounding could tip are left out, everything else must
agree.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

from somelab.config import GravityConfig
from somelab.core.gravity.credit import merits
from somelab.core.keystore import KeyStore
from somelab.core.router import Routing
from somelab.core.statistics import RoutingStatistics
from tests.core.slow_gravity import Store, Token, When, one_step

# Rounding of fp32 may tip a comparison this near to its threshold; an exact tie is the same tie on both
# sides.
UNCERTAIN = 2e-5


@dataclass(frozen=True)
class World:
    """A layer's addresses, and how to draw tokens for it."""

    num_experts: int
    d_model: int
    top_k: int
    num_tokens: int
    num_layers: int
    layer: int
    seed: int
    share_counted: float
    used_before: bool


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Worlds of up to 7 experts and 12 tokens, some without tokens, some without any that count."""
    num_experts = draw(st.integers(1, 7))
    num_layers, layer = draw(st.sampled_from([(1, 0), (2, 0), (2, 1), (4, 1), (4, 2), (5, 3)]))
    return World(
        num_experts=num_experts,
        d_model=draw(st.integers(1, 5)),
        top_k=min(draw(st.integers(1, 4)), num_experts),
        num_tokens=draw(st.integers(0, 12)),
        num_layers=num_layers,
        layer=layer,
        seed=draw(st.integers(0, 2**31)),
        share_counted=draw(st.sampled_from([1.0, 1.0, 0.6, 0.0])),
        used_before=draw(st.booleans()),
    )


rates = st.one_of(st.just(0.0), st.floats(0.001, 0.3), st.floats(0.3, 5.0))

settings_of_rules = st.fixed_dictionaries(
    {
        "keys": st.sampled_from(["moved", "moved", "moved", "fixed"]),
        "attraction": st.sampled_from([True, True, False]),
        "alpha": rates,
        "alpha_floor": st.sampled_from([0.0, 0.005, 0.2, 1.5]),
        "attraction_by": st.sampled_from(["all", "winner", "gate"]),
        "credit": st.sampled_from([0.0, 0.0, 0.02, 0.3]),
        "credit_final": st.sampled_from([None, 0.0, 0.1]),
        "peer_pull": st.sampled_from([True, True, False]),
        "beta": rates,
        "beta_final": st.none() | rates,
        "beta_layers": st.sampled_from([(1.0,), (1.0, 0.5), (0.0, 2.0), (1.0, 0.5, 0.25)]),
        "inertia": st.sampled_from(["min", "max"]),
        "pull_until_cosine": st.sampled_from([None, None, -0.5, 0.3, 0.9]),
        "repulsion": st.sampled_from([0.0, 0.0, 0.05, 0.5]),
        "repulsion_distance": st.sampled_from([0.5, 1.5]),
        "usage": st.sampled_from(["ema", "cumulative"]),
        "ema_decay": st.sampled_from([0.0, 0.5, 0.99, 0.995]),
        "norm": st.sampled_from(["unit", "unit_used", "clamp", "none"]),
        "decay": st.sampled_from([True, True, False]),
        "delta": st.sampled_from([0.001, 0.25, 0.95]),
        "warmup_steps": st.sampled_from([0, 1, 2, 100]),
        "respawn": st.booleans(),
        "respawn_threshold": st.sampled_from([0.1, 0.6]),
        "load_bias": st.sampled_from([0.0, 0.01]),
        "max_step": st.sampled_from([None, None, 0.05, 0.5]),
        "key_ema": st.sampled_from([0.0, 0.0, 0.9]),
        "every": st.sampled_from([1, 1, 2]),
        "frozen_layers": st.sampled_from([(False,), (False, True)]),
        "pairs": st.sampled_from(["dense", "sparse"]),
    }
)
thetas = st.sampled_from(
    [{"theta": 0.5}, {"theta": 3.0}, {"theta_percentile": 0.05}, {"theta_percentile": 0.5}]
)


def config_of(settings: dict[str, Any], theta: dict[str, float]) -> GravityConfig:
    whole: dict[str, Any] = {**settings, "theta": None, "theta_percentile": None, **theta}
    return GravityConfig(**whole)


def first_store(world: World, rng: np.random.Generator, *, unit: bool) -> Store:
    """Addresses somewhere in a run: directions of length 1, or of any length from 0.05 to 1.5."""
    keys = rng.normal(size=(world.num_experts, world.d_model))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    if not unit:
        keys *= rng.uniform(0.05, 1.5, size=(world.num_experts, 1))
    keys = keys.astype(np.float32)
    usage = np.zeros(world.num_experts, np.float32)
    if world.used_before:
        usage = (rng.uniform(0, 6, world.num_experts) * (rng.random(world.num_experts) < 0.8)).astype(
            np.float32
        )
    return Store(
        keys=keys.tolist(),
        usage=usage.tolist(),
        mass=(usage / 2).tolist(),
        load_bias=[0.0] * world.num_experts,
        query_mean=[0.0] * world.d_model,
        routing_keys=keys.tolist(),
    )


def draw_tokens(world: World, rng: np.random.Generator) -> list[Token]:
    """A step's tokens, skewed towards the first experts."""
    popularity = 1 / np.arange(1, world.num_experts + 1)
    tokens: list[Token] = []
    for _ in range(world.num_tokens):
        raw = rng.normal(size=world.d_model).astype(np.float32)
        gates = rng.dirichlet(np.ones(world.top_k)).astype(np.float32)
        experts = rng.choice(world.num_experts, world.top_k, replace=False, p=popularity / popularity.sum())
        counted = bool(rng.random() < world.share_counted)
        query = (raw / np.linalg.norm(raw)).astype(np.float32)
        worth = rng.normal(size=world.top_k).astype(np.float32)
        tokens.append(
            Token(query.tolist(), experts.tolist(), gates.tolist(), raw.tolist(), counted, worth.tolist())
        )
    return tokens


def routing_of_tokens(world: World, tokens: list[Token]) -> Routing:
    return Routing(
        torch.tensor([token.experts for token in tokens], dtype=torch.int64).view(-1, world.top_k),
        torch.tensor([token.gates for token in tokens]).view(-1, world.top_k),
        torch.tensor([token.query for token in tokens]).view(-1, world.d_model),
        torch.tensor([token.raw_query for token in tokens]).view(-1, world.d_model),
        torch.zeros(()),
    )


def counted_of(tokens: list[Token]) -> torch.Tensor:
    return torch.tensor([token.counted for token in tokens], dtype=torch.bool)


def fast_store(world: World, config: GravityConfig, store: Store) -> KeyStore:
    """A KeyStore with the addresses of a slow one."""
    fast = KeyStore(
        world.num_experts,
        world.d_model,
        config,
        seed=world.seed,
        layer=world.layer,
        num_layers=world.num_layers,
    )
    fast.keys_ED.copy_(torch.tensor(store.keys))
    fast.usage_E.copy_(torch.tensor(store.usage))
    fast.mass_E.copy_(torch.tensor(store.mass))
    if config.key_ema:
        fast.average_ED.copy_(torch.tensor(store.routing_keys))
    return fast


def statistics_for(world: World, config: GravityConfig, *, centre: bool) -> RoutingStatistics:
    return RoutingStatistics(
        world.num_experts, world.d_model, config, centre=centre, seed=world.seed, layer=world.layer
    )


def compare_run(world: World, config: GravityConfig, *, num_steps: int = 3, centre: bool = True) -> bool:
    """A few steps on both sides; after each, every number of the store must agree. False: rounding could tip
    a decision."""
    rng = np.random.default_rng(world.seed)
    slow = first_store(world, rng, unit=bool(world.seed % 2))
    fast = fast_store(world, config, slow)
    for step in range(num_steps):
        fast.set_progress_(step, num_steps)
        tokens = draw_tokens(world, rng)
        seen = statistics_for(world, config, centre=centre)
        routing, told = (
            routing_of_tokens(world, tokens),
            {"step": step, "counted_T": counted_of(tokens), "token_index_T": None},
        )
        seen.add_(routing, **told)
        if seen.wants_credit:
            alignment_TK = torch.tensor([token.alignment for token in tokens]).view(-1, world.top_k)
            seen.add_credit_(routing, merits(alignment_TK, routing.gates_TK), **told)
        report = fast.apply_(seen)
        if step % config.every:
            assert report is None
            continue
        assert report is not None
        when = When(world.layer, world.num_layers, step, step / (num_steps - 1))
        slow = one_step(slow, tokens, config, when, centre=centre)
        if any(0 < margin < UNCERTAIN for margin in slow.margins):
            return False
        queries = [token.query for token in tokens if token.counted]
        assert list(report.reborn) == (slow.dying if queries else [])
        _rebirths_are_lawful(fast, report.reborn, queries, config, step)
        _adopt(slow, fast, report.reborn)
        _agree(fast, slow)
    return True


def _rebirths_are_lawful(
    fast: KeyStore, reborn: tuple[int, ...], queries: list[list[float]], config: GravityConfig, step: int
) -> None:
    for i in reborn:
        key = fast.keys_ED[i].double()
        near = min(float((key - torch.tensor(query).double()).norm()) for query in queries)
        # Noise of 0.01 a coordinate: six deviations of its length, and as much again for the normalisation.
        assert near < 12 * config.respawn_noise * len(key) ** 0.5
        torch.testing.assert_close(float(key.norm()), 1.0, rtol=0, atol=1e-5)
        assert fast.usage_E[i] == fast.mass_E[i] == fast.load_bias_E[i] == 0
        assert int(fast.born_E[i]) == step


def _adopt(slow: Store, fast: KeyStore, reborn: tuple[int, ...]) -> None:
    """Where a key is reborn is random: the slow side goes on from where it came to be."""
    for i in reborn:
        slow.keys[i] = slow.routing_keys[i] = fast.keys_ED[i].tolist()
        slow.usage[i] = slow.mass[i] = slow.load_bias[i] = 0.0


def _agree(fast: KeyStore, slow: Store) -> None:
    wanted = {
        "keys": (fast.keys_ED, slow.keys),
        "routing keys": (fast.routing_keys_ED, slow.routing_keys),
        "usage": (fast.usage_E, slow.usage),
        "mass": (fast.mass_E, slow.mass),
        "load bias": (fast.load_bias_E, slow.load_bias),
        "query mean": (fast.query_mean_D, slow.query_mean),
    }
    for name, (got, want) in wanted.items():
        torch.testing.assert_close(
            got.double(),
            torch.tensor(want, dtype=torch.float64).view(got.shape),
            rtol=1e-5,
            atol=1e-5,
            msg=lambda m, n=name: f"{n}: {m}",
        )
