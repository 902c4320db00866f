"""Product keys: a layer whose keys are pairs of sub-keys learns, moves and restarts as one with flat keys,
and has a million experts in bounded memory. Low-dimensional keys beside it.

Shape letters: T tokens, D model width, H half of a key, E experts, S sub-keys of a half, K experts per
token."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from somelab.config import Config, ExpertsConfig, GravityConfig, RouterConfig, override
from somelab.core.experts import FAMILIES, ExpertFamily
from somelab.core.keystore import KeyStore
from somelab.core.layer import SomeLayer
from somelab.core.product import ProductKeyStore, ProductStatistics, split
from somelab.core.statistics import RoutingStatistics
from somelab.errors import ConfigError
from tests.core.builders import small_layer, tokens_of

MOVING: dict[str, Any] = {"credit": 0.05, "credit_from": "backward", "load_bias": 0.01, "alpha": 0.2}


def product_layer(d_model: int = 16, num_experts: int = 25, **groups: Any) -> SomeLayer:
    router = {"keys": "product", "centre_queries": True, "temperature": 0.2, **groups.pop("router", {})}
    return small_layer(d_model, experts={"num_experts": num_experts}, router=router, **groups).train()


def halves(layer: SomeLayer) -> tuple[ProductKeyStore, ProductStatistics]:
    assert isinstance(layer.keystore, ProductKeyStore)
    assert isinstance(layer.statistics, ProductStatistics)
    return layer.keystore, layer.statistics


def step_(layer: SomeLayer, x_TD: Tensor) -> None:
    layer(x_TD).square().sum().backward()
    layer.zero_grad()


@pytest.mark.parametrize("scoring", ["cosine", "dot"])
def test_a_layer_selects_the_experts_with_the_highest_scores_of_all(scoring: str) -> None:
    layer = product_layer(router={"scoring": scoring}).eval()
    x_TD = tokens_of(40, 16)
    routing = layer(x_TD, details=True).routing
    query_TD = layer.router.query(x_TD, None).detach()
    if scoring == "cosine":
        query_TD = torch.cat([F.normalize(half, dim=1) for half in query_TD.tensor_split(2, dim=1)], dim=1)
    scores_TE = query_TD @ layer.keys.T / (2 if scoring == "cosine" else 1)
    chosen = scores_TE.topk(3, dim=1)
    assert torch.equal(routing.indices_TK, chosen.indices)
    torch.testing.assert_close(routing.gates_TK, (chosen.values / 0.2).softmax(dim=1))
    if scoring == "cosine":
        unit_ED = F.normalize(layer.keys, dim=1)
        torch.testing.assert_close(scores_TE, F.normalize(query_TD, dim=1) @ unit_ED.T)


@pytest.mark.parametrize(
    "gravity", [{**MOVING}, {**MOVING, "repulsion": 0.1, "norm": "clamp", "respawn": True}]
)
def test_each_half_moves_as_the_keys_of_a_flat_layer(gravity: dict[str, Any]) -> None:
    layer = product_layer(gravity=gravity)
    store, seen = halves(layer)
    alone = [KeyStore(5, 8, layer.keystore.config, seed=one.seed, layer=0) for one in store.stores()]
    for number, one in enumerate(alone):
        assert torch.equal(one.keys_ED, store.stores()[number].keys_ED)
    for step in range(3):
        step_(layer, tokens_of(60, 16, seed=step))
        for one, half in zip(alone, seen.of_halves(), strict=True):
            one.apply_(half)
        layer.apply_gravity_()
        for one, half in zip(alone, store.stores(), strict=True):
            assert one.digest() == half.digest()
    start, _ = halves(product_layer(gravity=gravity))
    assert not torch.equal(start.keys_ED, store.keys_ED)
    assert not torch.equal(store.stores()[0].keys_ED, store.stores()[1].keys_ED)


def test_rows_and_columns_add_up_what_their_experts_saw() -> None:
    layer = product_layer(gravity=MOVING)
    store, seen = halves(layer)
    x_TD = tokens_of(50, 16)
    counted_T = torch.arange(50) % 3 > 0
    output = layer(x_TD, counted=counted_T, details=True)
    output.mixture.square().sum().backward()
    table_SS = seen.count_E.view(5, 5).clone()
    first, second = seen.of_halves()
    assert torch.equal(first.count_E, table_SS.sum(dim=1))
    assert torch.equal(second.count_E, table_SS.sum(dim=0))
    assert float(seen.num_tokens) == int(counted_T.sum())
    query_TH = output.routing.queries_TD[:, :8].detach()
    rows_TK = output.routing.indices_TK // 5
    for row in range(5):
        took_T = ((rows_TK == row) & counted_T[:, None]).sum(dim=1).float()
        torch.testing.assert_close(first.pull_sum_ED[row], took_T @ query_TH)
    layer.apply_gravity_()
    torch.testing.assert_close(store.usage_E.view(5, 5), 0.01 * table_SS)


def test_credit_of_a_row_is_the_sum_over_its_experts() -> None:
    flat_like = RoutingStatistics(25, 16, GravityConfig(**MOVING))
    layer = product_layer(gravity=MOVING)
    _, seen = halves(layer)
    routing = layer(tokens_of(30, 16), details=True).routing
    merit_TK = torch.randn(30, 3, generator=torch.Generator().manual_seed(3))
    seen.zero_()
    for one in (seen, flat_like):
        one.add_credit_(routing, merit_TK, step=0, counted_T=None, token_index_T=None)
    table = flat_like.credit_ED.view(5, 5, 16)
    torch.testing.assert_close(seen.of_halves()[0].credit_ED, table.sum(dim=1)[:, :8])
    torch.testing.assert_close(seen.of_halves()[1].credit_ED, table.sum(dim=0)[:, 8:])


def test_a_sub_key_selected_twice_by_a_token_is_no_pair() -> None:
    layer = product_layer(num_experts=4, gravity={"beta": 0.1})
    _, seen = halves(layer)
    routing = layer(tokens_of(1, 16), details=True).routing._replace(indices_TK=torch.tensor([[0, 1, 2]]))
    seen.zero_()
    seen.add_(routing, step=0, counted_T=None, token_index_T=None)
    # Rows 0, 0, 1 and columns 0, 1, 0: two mixed pairs each, and none of a sub-key with itself.
    for half in seen.of_halves():
        assert half.pairs.dense().tolist() == [[0, 2], [2, 0]]


def test_micro_batches_add_up() -> None:
    whole, parts = (
        product_layer(gravity={**MOVING, "respawn": True, "token_fraction": 0.5}) for _ in range(2)
    )
    x_TD, index_T = tokens_of(64, 16), torch.arange(64)
    whole(x_TD, token_index=index_T)
    for some in (slice(0, 20), slice(20, 64)):
        parts(x_TD[some], token_index=index_T[some])
    for one, other in zip(halves(whole)[1].parts(), halves(parts)[1].parts(), strict=True):
        for name in one.additive:
            torch.testing.assert_close(getattr(one, name), getattr(other, name))
        assert torch.equal(one.kept.draw_Q, other.kept.draw_Q)
        assert torch.equal(one.pairs.dense(), other.pairs.dense())


def test_the_store_restarts_to_the_bit_and_evaluation_changes_nothing() -> None:
    layer = product_layer(gravity={**MOVING, "key_ema": 0.5})
    store, _ = halves(layer)
    step_(layer, tokens_of(40, 16))
    layer.apply_gravity_()
    saved, digest = store.snapshot(), store.digest()
    layer.eval()(tokens_of(40, 16, seed=5))
    assert store.digest() == digest
    layer.train()
    step_(layer, tokens_of(40, 16, seed=6))
    layer.apply_gravity_()
    assert store.digest() != digest
    assert store.step == 2
    store.restore_(saved)
    assert store.digest() == digest
    assert store.step == 1
    with torch.device("meta"):
        empty = product_layer(gravity=MOVING)
    filled = empty.to_empty(device="cpu")
    assert halves(filled)[0].digest() == halves(product_layer(gravity=MOVING))[0].digest()


def test_crowding_of_pairs() -> None:
    store = ProductKeyStore(9, 4, GravityConfig(), seed=0)
    first, second = store.stores()
    first.keys_ED.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]))
    second.keys_ED.copy_(torch.tensor([[2.0, 0.0], [0.0, 2.0], [0.0, -2.0]]))
    # An expert's nearest others share one sub-key exactly; the other halves are at right angles: (1 + 0) / 2.
    assert store.crowding(2) == pytest.approx(0.5)
    unit_ED = torch.cat([F.normalize(half, dim=1) for half in store.keys_ED.tensor_split(2, dim=1)], dim=1)
    every = (unit_ED @ unit_ED.T / 2).topk(4, dim=1).values[:, 1:].mean()
    assert store.crowding(4) == pytest.approx(float(every))
    assert store.key_lengths().tolist() == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("keys", ["flat", "product"])
@pytest.mark.parametrize("trains", [True, False])
def test_low_dimensional_keys(keys: str, trains: bool) -> None:
    layer = product_layer(router={"keys": keys, "key_dim": 6, "gradient": trains}, gravity=MOVING)
    assert layer.keys.shape == (25, 6)
    assert layer.keystore.width == 6
    output = layer(tokens_of(50, 16).requires_grad_(), details=True)
    assert output.routing.queries_TD.shape == (50, 6)
    assert output.query.shape == (50, 16)
    output.mixture.square().sum().backward()
    assert layer.router.projection is not None
    weight = layer.router.projection.weight
    assert weight.requires_grad is trains
    assert (weight.grad is not None and float(weight.grad.norm()) > 0) is trains
    before = layer.keys.clone()
    layer.apply_gravity_()
    assert not torch.equal(layer.keys, before)
    mean_D = torch.cat([store.query_mean_D for store in layer.keystore.stores()])
    torch.testing.assert_close(mean_D, output.routing.uncentred_TD.mean(dim=0))


def test_balance_loss_acts_on_rows_and_columns() -> None:
    layer = product_layer(router={"balance_loss": 0.1})
    with torch.no_grad():
        for store in layer.keystore.stores():
            store.keys_ED.copy_(store.keys_ED[:1].expand_as(store.keys_ED))  # equal scores: uniform
    assert float(layer(tokens_of(40, 16), details=True).aux_loss.detach()) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("settings", "field", "remedy"),
    [
        ({"router.keys": "product", "experts.num_experts": 20}, "experts.num_experts", "choose 16 or 25"),
        (
            {"experts.num_experts": 20_000},
            "experts.num_experts",
            "choose 19,881 or 20,164, or set router.keys",
        ),
        (
            {"router.keys": "product", "router.key_dim": 5, "experts.num_experts": 16},
            "router.key_dim",
            "even",
        ),
        (
            {"router.keys": "flat", "router.balance_loss": 0.1, "experts.num_experts": 20_000},
            "router.balance_loss",
            "product",
        ),
    ],
)
def test_pools_that_cannot_have_product_keys(settings: dict[str, Any], field: str, remedy: str) -> None:
    with pytest.raises(ConfigError, match=remedy) as caught:
        override(Config(), settings)
    assert caught.value.field == field
    override(Config(), {**settings, "model.feed_forward": "none"})
    with pytest.raises(ConfigError, match="choose 4 or 9"):
        small_layer(experts={"num_experts": 8}, router={"keys": "product"})


class Scales(ExpertFamily, name="test scales"):
    """Expert i multiplies its input by a number: the smallest pool there is."""

    def __init__(self, d_model: int, config: ExpertsConfig, *, seed: int, layer: int) -> None:
        super().__init__(d_model, config, seed=seed, layer=layer)
        self.scale_E = nn.Parameter(torch.empty(config.num_experts), requires_grad=False)
        self.reset_()

    def drawn_weights(self) -> Iterator[tuple[str, nn.Parameter]]:
        yield "scale_E", self.scale_E

    def draw_(self, experts: range) -> None:
        with torch.no_grad():
            self.scale_E.copy_(torch.linspace(-1, 1, len(experts)))

    def draw_one_(self, expert: int) -> None:
        raise AssertionError("drawn as a whole")

    def forward(
        self, x_TD: Tensor, indices_TK: Tensor, gates_TK: Tensor, outputs_TKO: Tensor | None = None
    ) -> Tensor:
        scale_TK = self.scale_E[indices_TK]
        if outputs_TKO is not None:
            outputs_TKO.copy_((scale_TK[:, :, None] * x_TD[:, None]).detach())
        return (gates_TK * scale_TK).sum(dim=1, keepdim=True) * x_TD

    def num_products(self) -> int:
        return self.config.top_k * self.origin.d_model


def test_a_million_experts_take_bounded_memory_and_move_only_used_sub_keys() -> None:
    num_experts = 1_000_000
    layer = SomeLayer(
        64,
        ExpertsConfig(num_experts=num_experts, top_k=4, family="test scales"),
        RouterConfig(kind="linear", temperature=0.1),
        GravityConfig(**MOVING, norm="unit_used", decay=False),
    ).train()
    store, _ = halves(layer)
    before = [one.keys_ED.clone() for one in store.stores()]
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step_(layer, tokens_of(2048, 64))
    report = layer.apply_gravity_()
    measured = store.crowding(4)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most) * 1024
    # A table of T x E would take 8 GB, the keys of all experts 256 MB.
    assert grown < 200e6
    assert report is not None
    assert report.count_E.shape == (num_experts,)
    assert int(report.count_E.sum()) == 4 * 2048
    assert -1 < measured < 1
    table_SS = report.count_E.view(1000, 1000)
    for one, start, used_S in zip(store.stores(), before, (table_SS.sum(1), table_SS.sum(0)), strict=True):
        moved_S = (one.keys_ED - start).norm(dim=1) > 0
        assert not bool((moved_S & (used_S == 0)).any())
        assert bool(moved_S.any())
    FAMILIES.pop("test scales", None)


def test_split_keeps_gates_and_halves_queries() -> None:
    routing = product_layer()(tokens_of(6, 16), details=True).routing
    first, second = split(routing, 5)
    assert torch.equal(first.indices_TK * 5 + second.indices_TK, routing.indices_TK)
    assert torch.equal(torch.cat([first.queries_TD, second.queries_TD], dim=1), routing.queries_TD)
    assert first.gates_TK is routing.gates_TK
