"""Statistics are those of the real batch, once: over micro-batches, without padding, under recompute, for a
share of tokens.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from somelab.config import GravityConfig
from somelab.core.layer import SomeLayer
from somelab.core.router import Routing
from somelab.core.seeding import token_draws
from somelab.core.statistics import RoutingStatistics
from tests.core.builders import buffers_of, routing_of, same_bits, small_layer, tokens_of

# Rates that move keys visibly without fusing them: keys in one place make ties, and rounding would decide the
# routing.
EVERYTHING: dict[str, Any] = {
    "alpha": 0.005,
    "beta": 0.001,
    "delta": 0.3,
    "warmup_steps": 0,
    "respawn": True,
    "respawn_threshold": 0.75,
    "load_bias": 0.01,
    "norm": "clamp",
    "theta_percentile": 0.5,
}


def make_layer(**gravity: Any) -> SomeLayer:
    return small_layer(router={"centre_queries": True}, gravity={**EVERYTHING, **gravity})


def assert_same_statistics(got: RoutingStatistics, wanted: RoutingStatistics) -> None:
    """Counts to the last bit, sums to rounding."""
    for name in wanted.additive:
        exact = name in ("count_E", "num_tokens") or (
            name == "pull_weight_E" and wanted.config.attraction_by != "gate"
        )
        tolerance = 0.0 if exact else 2e-6
        torch.testing.assert_close(
            getattr(got, name), getattr(wanted, name), rtol=tolerance, atol=10 * tolerance, msg=name
        )
    assert torch.equal(got.pairs.dense(), wanted.pairs.dense())
    assert torch.equal(got.kept.draw_Q, wanted.kept.draw_Q)
    torch.testing.assert_close(got.kept.query_QD, wanted.kept.query_QD, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "gravity",
    [
        {},
        {"pairs": "sparse"},
        {"token_fraction": 0.5},
        {"attraction_by": "gate"},
        {"attraction_by": "winner"},
    ],
)
def test_four_micro_batches_equal_the_batch(gravity: dict[str, Any]) -> None:
    whole, split = make_layer(**gravity), make_layer(**gravity)
    for step in range(3):
        x_TD, index_T = tokens_of(64, 16, seed=step), torch.arange(64)
        counted_T = torch.rand(64, generator=torch.Generator().manual_seed(step)) < 0.8
        whole(x_TD, counted=counted_T, token_index=index_T)
        for part in range(4):
            rows = slice(16 * part, 16 * part + 16)
            split(x_TD[rows], counted=counted_T[rows], token_index=index_T[rows])
        assert_same_statistics(split.statistics, whole.statistics)
        assert float(whole.statistics.num_tokens) > 0
        reports = whole.apply_gravity_(), split.apply_gravity_()
        assert reports[0] is not None
        assert reports[1] is not None
        assert reports[0].reborn == reports[1].reborn
        torch.testing.assert_close(split.keystore.keys_ED, whole.keystore.keys_ED, rtol=0, atol=2e-6)
    assert whole.keystore.born_E.max() >= 0, "a rebirth was part of the comparison"
    assert whole.keystore.born_E.min() == -1, "and a key that only moved"


def test_padding_never_counts() -> None:
    """Uncounted tokens may say anything: the statistics are those of the counted tokens alone."""
    padded, bare = make_layer(), make_layer()
    x_TD = tokens_of(40, 16)
    counted_T = torch.arange(40) % 3 > 0
    padded(torch.where(counted_T[:, None], x_TD, 100.0), counted=counted_T, token_index=torch.arange(40))
    bare(x_TD[counted_T], token_index=torch.arange(40)[counted_T])
    assert_same_statistics(padded.statistics, bare.statistics)
    assert float(padded.statistics.num_tokens) == 26


def test_a_batch_of_padding_leaves_nothing() -> None:
    layer = make_layer()
    nothing = buffers_of(layer)
    layer(tokens_of(10, 16), counted=torch.zeros(10, dtype=torch.bool))
    assert not any(getattr(layer.statistics, name).any() for name in layer.statistics.additive)
    assert not layer.statistics.pairs.dense().any()
    assert not layer.statistics.kept.draw_Q.numel()
    assert same_bits(buffers_of(layer), nothing)


def test_batches_may_have_two_dimensions() -> None:
    flat, square = make_layer(), make_layer()
    x_TD, counted_T = tokens_of(12, 16), torch.arange(12) % 4 > 0
    flat_output = flat(x_TD, counted=counted_T, token_index=torch.arange(12))
    output = square(
        x_TD.view(3, 4, 16), counted=counted_T.view(3, 4), token_index=torch.arange(12).view(3, 4)
    )
    assert torch.equal(output, flat_output.view(3, 4, 16))
    assert_same_statistics(square.statistics, flat.statistics)


def routings(num_tokens: int, num_experts: int = 4) -> Routing:
    indices_TK = (torch.arange(num_tokens)[:, None] + torch.arange(2)) % num_experts
    return routing_of(indices_TK, torch.ones(num_tokens, 3))


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_a_share_of_the_tokens(fraction: float) -> None:
    seen = RoutingStatistics(4, 3, GravityConfig(token_fraction=fraction))
    counts: list[float] = []
    for step in range(4):
        seen.zero_()
        seen.add_(routings(5000), step=step, counted_T=None, token_index_T=None)
        counts.append(float(seen.num_tokens))
        # Four deviations of a binomial.
        assert abs(counts[-1] - 5000 * fraction) < 4 * (5000 * fraction * (1 - fraction)) ** 0.5
        assert float(seen.count_E.sum()) == 2 * counts[-1]
        assert float(seen.pairs.dense().sum()) == 2 * counts[-1]
        assert float(seen.pull_weight_E.sum()) == 2 * counts[-1]
    assert len(set(counts)) > 1, "drawn anew each step"


@given(
    cuts=st.lists(st.integers(0, 200), max_size=5),
    seed=st.integers(0, 2**40),
    layer=st.integers(0, 30),
    step=st.integers(0, 10**6),
)
def test_draws_belong_to_the_token_and_not_to_its_batch(
    cuts: list[int], seed: int, layer: int, step: int
) -> None:
    index_T = torch.arange(200) + 7 * seed % 1000
    whole_T = token_draws(seed, "subsample", layer, step, index_T)
    edges = [0, *sorted(cuts), 200]
    parts = [token_draws(seed, "subsample", layer, step, index_T[a:b]) for a, b in pairwise(edges)]
    assert torch.equal(torch.cat(parts), whole_T)
    assert whole_T.min() >= 0
    assert whole_T.max() < 1


def test_draws_are_uniform_and_unrelated() -> None:
    index_T = torch.arange(40_000)
    draws = {
        "one": token_draws(0, "subsample", 0, 0, index_T),
        "another seed": token_draws(1, "subsample", 0, 0, index_T),
        "another purpose": token_draws(0, "respawn", 0, 0, index_T),
        "another layer": token_draws(0, "subsample", 1, 0, index_T),
        "another step": token_draws(0, "subsample", 0, 1, index_T),
    }
    for name, draw_T in draws.items():
        share_in_bin = torch.histc(draw_T, bins=20, min=0, max=1) / 40_000
        assert (share_in_bin - 0.05).abs().max() < 0.005, name  # four and a half deviations
    first, *others = [draw_T - 0.5 for draw_T in draws.values()]
    for other in others:
        assert abs(float((first * other).mean()) * 12) < 0.025  # correlation: five deviations
    assert abs(float((first[1:] * first[:-1]).mean()) * 12) < 0.025


def test_kept_queries_are_those_with_the_lowest_draws() -> None:
    config = GravityConfig(respawn=True)
    seen = RoutingStatistics(4, 3, config, seed=5, layer=2)
    queries_TD = tokens_of(50, 3)
    routing = routings(50)._replace(queries_TD=queries_TD)
    seen.add_(routing, step=9, counted_T=None, token_index_T=torch.arange(50) + 300)
    draw_T = token_draws(5, "respawn", 2, 9, torch.arange(50) + 300)
    lowest = draw_T.argsort()[:4]
    assert torch.equal(seen.kept.draw_Q, draw_T[lowest])
    assert torch.equal(seen.kept.query_QD, queries_TD[lowest])


class Recomputed(torch.nn.Module):
    """A layer inside activation recompute, after a trained linear map (reentrant recompute needs an input
    with gradient)."""

    def __init__(self, layer: SomeLayer, reentrant: bool | None) -> None:
        super().__init__()
        self.layer, self.reentrant = layer, reentrant

    def forward(self, x_TD: Tensor, counted_T: Tensor) -> Tensor:
        def block(x_TD: Tensor) -> Tensor:
            return x_TD + self.layer(x_TD, counted=counted_T, token_index=torch.arange(x_TD.shape[0]))

        if self.reentrant is None:
            return block(x_TD)
        result = checkpoint(block, x_TD, use_reentrant=self.reentrant)
        assert isinstance(result, Tensor)
        return result


@pytest.mark.parametrize("reentrant", [True, False])
def test_recompute_counts_once(reentrant: bool) -> None:
    counted_T = torch.arange(24) % 5 > 0
    gradients: list[list[Tensor]] = []
    layers: list[SomeLayer] = []
    for mode in (None, reentrant):
        layer = make_layer()
        model = Recomputed(layer, mode)
        x_TD = tokens_of(24, 16).requires_grad_()
        (model(x_TD, counted_T) * tokens_of(24, 16, seed=1)).sum().backward()
        assert x_TD.grad is not None
        gradients.append([x_TD.grad, *(p.grad for p in layer.parameters() if p.grad is not None)])
        layers.append(layer)
    plain, recomputed = layers
    assert float(recomputed.statistics.num_tokens) == int(counted_T.sum())
    assert_same_statistics(recomputed.statistics, plain.statistics)
    assert len(gradients[0]) == len(gradients[1]) > 1
    for a, b in zip(*gradients):
        torch.testing.assert_close(a, b)


def test_only_what_the_rules_read_is_collected() -> None:
    quiet = RoutingStatistics(8, 5, GravityConfig(attraction=False, peer_pull=False))
    quiet.add_(routing_of([[0, 1]], [[1.0] * 5]), step=0, counted_T=None, token_index_T=None)
    assert quiet.count_E.sum() == 2
    assert sum(getattr(quiet, name).numel() for name in quiet.additive) < 3 * 8
    assert not quiet.pairs.count.numel()
    assert not quiet.kept.query_QD.numel()


@pytest.mark.parametrize("still", [{"keys": "fixed"}, {"keys": "gradient"}, {"frozen_layers": (True,)}])
def test_keys_that_rest_need_counts_only(still: dict[str, Any]) -> None:
    layer = make_layer(**still)
    layer(tokens_of(10, 16))
    assert float(layer.statistics.count_E.sum()) == 30
    assert not layer.statistics.pull_sum_ED.numel()
    assert not layer.statistics.pairs.count.numel()
    assert not layer.statistics.kept.query_QD.numel()


def test_zero_forgets_in_place() -> None:
    layer = make_layer()
    nothing = buffers_of(layer)
    places = {name: getattr(layer.statistics, name).data_ptr() for name in layer.statistics.additive}
    layer(tokens_of(10, 16))
    assert not same_bits(buffers_of(layer), nothing)
    layer.statistics.zero_()
    assert same_bits(buffers_of(layer), nothing)
    assert places == {name: getattr(layer.statistics, name).data_ptr() for name in layer.statistics.additive}


def test_statistics_are_not_part_of_a_checkpoint() -> None:
    layer = make_layer()
    layer(tokens_of(10, 16))
    assert not [name for name in layer.state_dict() if name.startswith("statistics")]
