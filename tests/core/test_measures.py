"""Measures of self-organization against numbers worked out by hand, and the sentences about its failures.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from somelab.core.collapse import findings
from somelab.core.measures import (
    combination_entropy_bits,
    combinations,
    coverage,
    crowding,
    dead_share,
    effective_experts,
    entropy_bits,
    gate_entropy,
    gini,
    spread,
)


@pytest.mark.parametrize(
    ("use", "wanted"),
    [
        ([1.0, 1.0, 1.0, 1.0], 0.0),
        ([0.0, 0.0, 0.0, 8.0], 0.75),  # one has all: (E - 1) / E
        ([3.0, 1.0], 0.25),  # ascending 1, 3: (-1 * 1 + 1 * 3) / (2 * 4)
        ([4.0, 2.0, 1.0, 3.0], 0.25),  # (-3 * 1 - 1 * 2 + 1 * 3 + 3 * 4) / (4 * 10)
        ([0.0, 0.0], 0.0),
    ],
)
def test_gini(use: list[float], wanted: float) -> None:
    assert gini(torch.tensor(use)) == pytest.approx(wanted)


@given(st.lists(st.floats(0, 100, width=32), min_size=1, max_size=20))
def test_gini_is_the_mean_difference(use: list[float]) -> None:
    """Another definition: the mean absolute difference of two experts, over twice the mean."""
    total = sum(use)
    wanted = sum(abs(a - b) for a in use for b in use) / (2 * len(use) * total) if total else 0.0
    assert gini(torch.tensor(use)) == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize(
    ("use", "bits"), [([5.0] * 8, 3.0), ([0.0, 7.0, 0.0], 0.0), ([2.0, 1.0, 1.0], 1.5), ([0.0, 0.0], 0.0)]
)
def test_entropy_and_effective_experts(use: list[float], bits: float) -> None:
    assert entropy_bits(torch.tensor(use)) == pytest.approx(bits)
    assert effective_experts(torch.tensor(use)) == pytest.approx(2**bits)


def test_coverage() -> None:
    use_E = torch.tensor([0.0, 3.0, 0.0, 1e-9, 0.0])
    assert coverage(use_E) == 2
    assert dead_share(use_E) == pytest.approx(0.6)


def test_gate_entropy() -> None:
    # The last as shares: 0.75, 0.25.
    gates_TK = torch.tensor([[0.5, 0.5], [1.0, 0.0], [0.75, 0.25], [1.5, 0.5]])
    quarter = -0.75 * math.log(0.75) - 0.25 * math.log(0.25)
    torch.testing.assert_close(gate_entropy(gates_TK), torch.tensor([math.log(2), 0.0, quarter, quarter]))


def test_combinations_are_sets() -> None:
    indices_TK = torch.tensor([[0, 1], [1, 0], [0, 2], [2, 1], [1, 2], [1, 2], [0, 1], [0, 1]])
    codes, counts = combinations(indices_TK, 3)
    assert codes.unique().numel() == 3
    assert sorted(counts.tolist()) == [1, 3, 4]
    # -(1/8 log 1/8 + 3/8 log 3/8 + 1/2 log 1/2) = 0.375 + 0.530639 + 0.5
    assert combination_entropy_bits(counts) == pytest.approx(1.405639, abs=1e-6)


def test_combinations_of_many_experts_do_not_collide() -> None:
    indices_TK = torch.combinations(torch.arange(60), 3)
    codes, counts = combinations(indices_TK, 60)
    assert codes.numel() == math.comb(60, 3)
    assert (counts == 1).all()


def test_codes_of_combinations_can_be_merged() -> None:
    first, _ = combinations(torch.tensor([[3, 1, 2]]), 10)
    second, _ = combinations(torch.tensor([[2, 3, 1]]), 10)
    assert torch.equal(first, second)


def test_crowding() -> None:
    # Cosines: keys 0 and 1 are one direction (whatever their length), keys 2 and 3 are opposite, at right
    # angles to them.
    keys_ED = torch.tensor([[1.0, 0.0], [0.5, 0.0], [0.0, 1.0], [0.0, -1.0]])
    # To the one nearest: 1, 1, 0, 0. To the two nearest: (1 + 0) / 2 twice, (0 + 0) / 2 twice.
    assert crowding(keys_ED, top_k=2) == pytest.approx(0.5)
    assert crowding(keys_ED, top_k=3) == pytest.approx(0.25)
    assert crowding(keys_ED, top_k=1) == 0.0
    assert crowding(keys_ED[:1], top_k=2) == 0.0
    fused_ED = torch.tensor([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)
    assert crowding(fused_ED, top_k=3) == pytest.approx(1.0)


def test_crowding_in_blocks() -> None:
    """More keys than one block of rows holds."""
    angle_E = torch.linspace(0, 2 * math.pi, 1501)[:-1]
    keys_ED = torch.stack([angle_E.cos(), angle_E.sin()], dim=1)
    assert crowding(keys_ED, top_k=3) == pytest.approx(math.cos(2 * math.pi / 1500), abs=1e-5)


HEALTHY = {
    "effective_experts": 20.0,
    "dead_share": 0.1,
    "crowding": 0.5,
    "num_combinations": 100.0,
    "gate_entropy": 1.0,
}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"effective_experts": 5.9}, "router collapse"),
        ({"dead_share": 0.51}, "dead experts"),
        ({"crowding": 0.96}, "key fusion"),
        ({"num_combinations": 8.0}, "few combinations"),
        ({"gate_entropy": 1.3863}, "uniform gates"),
    ],
)
def test_each_failure_is_named(change: dict[str, float], kind: str) -> None:
    assert findings(2, HEALTHY, num_experts=32, top_k=4) == []
    (found,) = findings(2, {**HEALTHY, **change}, num_experts=32, top_k=4)
    assert found.kind == kind
    assert found.layer == 2
    assert found.sentence.startswith("layer 2: ")


def test_what_is_not_measured_is_not_judged() -> None:
    assert findings(0, {}, num_experts=32, top_k=4) == []


def test_one_expert_a_token_has_no_gates_and_no_guilds() -> None:
    alone = {"crowding": 1.0, "num_combinations": 2.0, "gate_entropy": 0.0}
    assert findings(0, alone, num_experts=32, top_k=1) == []


def test_few_tokens_say_nothing_about_unused_experts_of_a_large_pool() -> None:
    unused = {"dead_share": 0.9, "num_combinations": 90.0}
    sizes = {"num_experts": 1000, "top_k": 4}
    assert findings(0, unused, **sizes, num_tokens=999) == []
    assert [found.kind for found in findings(0, unused, **sizes, num_tokens=1000)] == [
        "dead experts",
        "few combinations",
    ]


@pytest.mark.parametrize(("number", "most"), [(1_000_000, 4096), (1 << 20, 4096), (16385, 1024), (50, 60)])
def test_a_sample_is_spread_over_rows_and_columns(number: int, most: int) -> None:
    sample = spread(number, most)
    assert len(sample.unique()) == len(sample) == min(number, most)
    assert int(sample.min()) >= 0
    assert int(sample.max()) < number
    if number > most:
        side = math.isqrt(number)
        assert len((sample % side).unique()) > 0.6 * min(side, most)
        assert len((sample // side).unique()) > 0.6 * min(side, most)
