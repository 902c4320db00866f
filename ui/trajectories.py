"""Writes tests/trajectories.json: what the Python rules do with keys in the plane, for the test of the
playground's rules. `python ui/trajectories.py` writes the file, `python ui/trajectories.py --check` only
compares.

Router, statistics, rules and measures are those of `somelab.core`, run in double precision; the file has all
that is random. Shape letters: T tokens, D model width (2), E experts, K experts per token."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from somelab.config import GravityConfig, RouterConfig
from somelab.core.gravity import KeyState, Moment, apply_rules
from somelab.core.gravity.credit import merits
from somelab.core.measures import (
    combination_entropy_bits,
    combinations,
    crowding,
    dead_share,
    entropy_bits,
    gini,
)
from somelab.core.router import Router
from somelab.core.seeding import generator, token_draws
from somelab.core.statistics import RoutingStatistics

TARGET = Path(__file__).parent / "tests" / "trajectories.json"
NUM_TOKENS, NUM_STEPS, EVERY, SEED = 24, 40, 8, 20
TOLERANCE = 1e-8
CENTRES = (20.0, 135.0, 230.0)  # of the clusters of queries, in degrees

COMMON: dict[str, Any] = {"warmup_steps": 4, "ema_decay": 0.9, "theta_percentile": 0.25}
SCENARIOS: dict[str, dict[str, Any]] = {
    "fixed keys": {"alpha": 0.0, "beta": 0.0, "delta": 0.0},
    "attraction by all, unit": {"alpha": 0.1, "beta": 0.0, "delta": 0.0},
    "attraction by the winner, clamp": {
        "alpha": 0.2, "beta": 0.0, "delta": 0.0, "attraction_by": "winner", "norm": "clamp",
    },
    "attraction by gates, no norm": {
        "alpha": 0.2, "beta": 0.0, "delta": 0.0, "attraction_by": "gate", "norm": "none",
    },
    "v4: peer-pull, least inertia, unit": {"alpha": 0.02, "beta": 0.02, "inertia": "min", "delta": 0.02},
    "v6: decay and respawn, unit_used": {
        "alpha": 0.02, "beta": 0.01, "delta": 0.2, "norm": "unit_used", "respawn": True,
        "respawn_threshold": 0.3,
    },
    "v7: decay and respawn, clamp": {
        "alpha": 0.02, "beta": 0.01, "delta": 0.1, "norm": "clamp", "respawn": True,
        "respawn_threshold": 0.4, "load_bias": 0.002,
    },
    "credit and load bias": {"alpha": 0.0, "beta": 0.0, "delta": 0.0, "credit": 0.02, "load_bias": 0.005},
    "repulsion with a step cap": {
        "alpha": 0.1, "beta": 0.05, "delta": 0.0, "repulsion": 0.02, "repulsion_distance": 0.4,
        "max_step": 0.03,
    },
}  # fmt: skip


@contextmanager
def in_double_precision() -> Iterator[None]:
    """Everything that asks for fp32 gets fp64, so that rounding does not hide a difference of the rules."""
    torch.set_default_dtype(torch.float64)
    try:
        with mock.patch.object(Tensor, "float", Tensor.double):
            yield
    finally:
        torch.set_default_dtype(torch.float32)


def settings_of(changes: dict[str, Any]) -> GravityConfig:
    return GravityConfig.model_validate({**COMMON, **changes})


def unit(angles: Tensor) -> Tensor:
    radians = torch.deg2rad(angles)
    return torch.stack([radians.cos(), radians.sin()], dim=1)


class World:
    """One scenario: keys, talents of the experts, and the statistics of a step."""

    def __init__(self, name: str, gravity: GravityConfig, num_experts: int, top_k: int) -> None:
        self.gravity, self.top_k, self.temperature = gravity, top_k, 0.2
        self.random = generator(SEED, name)
        self.router = Router(
            2, top_k, RouterConfig(kind="none", scoring="cosine", temperature=0.2), seed=SEED, layer=0
        )
        self.statistics = RoutingStatistics(num_experts, 2, gravity, seed=SEED)
        self.key_angles = self._angles(num_experts)
        self.talents = self._angles(num_experts)
        none_E, keys_ED = torch.zeros(num_experts), unit(self.key_angles)
        never_E = torch.full((num_experts,), -1)
        self.state = KeyState(keys_ED, none_E, none_E, none_E, torch.zeros(2), never_E, keys_ED)

    def _angles(self, count: int) -> Tensor:
        """Rounded, so that the file is small and both sides start from the same numbers."""
        return (360 * torch.rand(count, generator=self.random)).round(decimals=2)

    def _queries(self) -> Tensor:
        centres = torch.tensor(CENTRES).repeat(NUM_TOKENS // len(CENTRES))
        return (centres + 14 * torch.randn(NUM_TOKENS, generator=self.random)).round(decimals=2)

    def read(self, step: int) -> dict[str, Any]:
        """One step: route, collect, apply the rules. Returns what was random, and the result."""
        angles = self._queries()
        before = self.state
        routing = self.router(unit(angles), before.routing_keys_ED, before.load_bias_E, before.query_mean_D)
        everyone = {
            "step": step,
            "counted_T": torch.ones(NUM_TOKENS, dtype=torch.bool),
            "token_index_T": None,
        }
        self.statistics.add_(routing, **everyone)
        if self.gravity.credit:
            alignment_TE = torch.deg2rad(angles[:, None] - self.talents[None, :]).cos()
            merit_TK = merits(alignment_TE.gather(1, routing.indices_TK), routing.gates_TK)
            self.statistics.add_credit_(routing, merit_TK, **everyone)
        now = Moment(self.gravity, 0, 1, step, 0.0, SEED, before.keys_ED)
        self.state = apply_rules(before, self.statistics, now)
        reborn = int((self.state.born_E != before.born_E).sum())
        draws = token_draws(SEED, "respawn", 0, step, torch.arange(NUM_TOKENS))
        noise = torch.randn(reborn, 2, generator=now.generator("respawn noise"))
        result = {
            "queries": _rounded(angles),
            "kept": draws.argsort()[: self.statistics.kept.limit].tolist(),
            "noise": _rounded(noise.flatten()),
        }
        if (step + 1) % EVERY == 0:
            result["after"] = self._after(routing.indices_TK)
        self.statistics.zero_()
        return result

    def _after(self, indices_TK: Tensor) -> dict[str, Any]:
        state, num_experts = self.state, self.state.usage_E.shape[0]
        counts = combinations(indices_TK, num_experts)[1]
        return {
            "keys": _rounded(state.keys_ED.flatten()),
            "usage": _rounded(state.usage_E),
            "mass": _rounded(state.mass_E),
            "load_bias": _rounded(state.load_bias_E),
            "born": state.born_E.tolist(),
            "gini": gini(state.usage_E),
            "entropy": entropy_bits(state.usage_E),
            "combination_entropy": combination_entropy_bits(counts),
            "crowding": crowding(state.keys_ED, self.top_k),
            "dead_share": dead_share(self.statistics.count_E),
        }


def _rounded(values: Tensor) -> list[float]:
    return [float(f"{value:.10g}") for value in values.tolist()]


def trajectories() -> dict[str, Any]:
    """All scenarios with their settings, randomness and results."""
    found: dict[str, Any] = {}
    with in_double_precision():
        for place, (name, changes) in enumerate(SCENARIOS.items()):
            num_experts, top_k = 12 + place, 2 + place % 3
            world = World(name, settings_of(changes), num_experts, top_k)
            steps = [world.read(step) for step in range(NUM_STEPS)]
            found[name] = {
                "settings": world.gravity.model_dump(mode="json"),
                "top_k": top_k,
                "temperature": world.temperature,
                "keys": _rounded(world.key_angles),
                "talents": _rounded(world.talents),
                "steps": steps,
            }
    return found


def differences(left: Any, right: Any, path: str = "") -> list[str]:
    """Where two trees differ by more than rounding."""
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
        return [line for name in left for line in differences(left[name], right[name], f"{path}/{name}")]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [line for i, pair in enumerate(zip(left, right)) for line in differences(*pair, f"{path}/{i}")]
    numbers = isinstance(left, int | float) and isinstance(right, int | float)
    same = math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE) if numbers else left == right
    return [] if same else [path]


def main(arguments: list[str]) -> int:
    found = trajectories()
    if arguments == ["--check"]:
        differing = differences(json.loads(TARGET.read_text(encoding="utf-8")), found)
        print(f"differs: {differing[0]}; run `python ui/trajectories.py`" if differing else "up to date")
        return 1 if differing else 0
    TARGET.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
