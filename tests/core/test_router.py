"""The router: what it counts, what it compares, what it weighs, and that its scores stay exact.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from somelab.config import RouterConfig
from somelab.core.router import Router, Routing, balancing_loss
from tests.core.builders import random, small_layer, tokens_of

KEYS_ED = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -0.5]])
"""Four keys in the plane; the last one has decayed to half its length."""


def make_router(d_model: int = 2, top_k: int = 2, **settings: Any) -> Router:
    return Router(d_model, top_k, RouterConfig(**settings), seed=0, layer=0)


def route(
    router: Router, x: list[list[float]] | Tensor, keys_ED: Tensor = KEYS_ED, **options: Any
) -> Routing:
    x_TD = torch.as_tensor(x)
    bias_E = options.pop("load_bias", torch.zeros(keys_ED.shape[0]))
    mean_D = options.pop("query_mean", torch.zeros(keys_ED.shape[1]))
    return router(x_TD, keys_ED, bias_E, mean_D, **options)


@pytest.mark.parametrize(
    ("settings", "with_bias", "without"),
    [
        ({"kind": "none"}, 0, 0),
        ({"kind": "linear"}, 32 * 32 + 32, 32 * 32),
        ({"kind": "mlp"}, 32 * 64 + 64 + 64 * 32 + 32, 2 * 32 * 64),
        ({"kind": "mlp", "width": 0.5}, 32 * 16 + 16 + 16 * 32 + 32, 2 * 32 * 16),
        ({"kind": "linear", "learnable_temperature": True}, 32 * 32 + 32 + 1, 32 * 32 + 1),
    ],
)
def test_number_of_parameters(settings: dict[str, Any], with_bias: int, without: int) -> None:
    for bias, wanted in ((True, with_bias), (False, without)):
        router = Router(32, 2, RouterConfig(**settings), seed=0, layer=0, bias=bias)
        assert sum(parameter.numel() for parameter in router.parameters()) == wanted


def test_cosine_scores_ignore_the_length_of_the_query_but_not_of_the_key() -> None:
    # (3, 4) has length 5: scores 0.6, 0.8, -0.6, -0.4. Gates of the best two: softmax of (0.8, 0.6).
    router = make_router(kind="none")
    routing = route(router, [[3.0, 4.0], [0.6, 0.8], [0.0, -2.0]])
    assert routing.indices_TK[:2].tolist() == [[1, 0], [1, 0]]
    gate = 1 / (1 + math.exp(-0.2))
    torch.testing.assert_close(routing.gates_TK[:2], torch.tensor([[gate, 1 - gate]] * 2))
    torch.testing.assert_close(routing.queries_TD[0], torch.tensor([0.6, 0.8]))
    torch.testing.assert_close(routing.raw_queries_TD[0], torch.tensor([3.0, 4.0]))
    assert routing.indices_TK[2, 0] == 3, "half its length, half its score: still the nearest"
    half = 1 / (1 + math.exp(-0.5))  # scores 0.5 and 0
    torch.testing.assert_close(routing.gates_TK[2], torch.tensor([half, 1 - half]))


def test_dot_scores_use_the_raw_query() -> None:
    # Scores 3, 4, -3, -2: softmax of (4, 3).
    routing = route(make_router(kind="none", scoring="dot"), [[3.0, 4.0]])
    gate = 1 / (1 + math.exp(-1.0))
    torch.testing.assert_close(routing.gates_TK, torch.tensor([[gate, 1 - gate]]))
    torch.testing.assert_close(routing.queries_TD, torch.tensor([[3.0, 4.0]]))


def test_a_linear_query_network() -> None:
    router = make_router(kind="linear")
    router.linears[0].load_state_dict(
        {"weight": torch.tensor([[0.0, 1.0], [1.0, 0.0]]), "bias": torch.tensor([1.0, 0.0])}
    )
    torch.testing.assert_close(route(router, [[3.0, 4.0]]).raw_queries_TD, torch.tensor([[5.0, 3.0]]))


def test_an_mlp_query_network() -> None:
    router = make_router(d_model=6, kind="mlp", width=1.5)
    x_TD = tokens_of(4, 6)
    down, down_bias, up, up_bias = router.parameters()
    wanted_TD = F.gelu(x_TD @ down.T + down_bias) @ up.T + up_bias
    routing = route(router, x_TD, keys_ED=tokens_of(5, 6, seed=1))
    torch.testing.assert_close(routing.raw_queries_TD, wanted_TD)


def test_dropout_acts_in_training_only() -> None:
    x_TD, keys_ED = tokens_of(4, 6), tokens_of(5, 6, seed=1)
    for kind in ("linear", "mlp"):
        plain, dropping = make_router(d_model=6, kind=kind), make_router(d_model=6, kind=kind, dropout=0.5)
        assert not torch.equal(
            route(dropping, x_TD, keys_ED).raw_queries_TD, route(plain, x_TD, keys_ED).raw_queries_TD
        )
        dropping.eval()
        assert torch.equal(
            route(dropping, x_TD, keys_ED).raw_queries_TD, route(plain, x_TD, keys_ED).raw_queries_TD
        )


def gate_at(router: Router) -> float:
    """First gate for scores 0.8 and 0.6."""
    return float(route(router, [[0.6, 0.8]]).gates_TK[0, 0].detach())


def gate_for(temperature: float) -> float:
    return 1 / (1 + math.exp(-0.2 / temperature))


@pytest.mark.parametrize(
    ("settings", "training", "evaluation"),
    [
        ({"temperature": 0.1}, 0.1, 0.1),
        ({"temperature": 0.1, "eval_temperature": 0.5}, 0.1, 0.5),
        ({"temperature": 0.1, "learnable_temperature": True}, 0.1, 0.1),
        ({"temperature": 0.1, "learnable_temperature": True, "eval_temperature": 2.0}, 0.1, 2.0),
    ],
)
def test_temperatures(settings: dict[str, Any], training: float, evaluation: float) -> None:
    router = make_router(kind="none", **settings)
    assert gate_at(router) == pytest.approx(gate_for(training), rel=1e-5)
    assert gate_at(router.eval()) == pytest.approx(gate_for(evaluation), rel=1e-5)


def test_a_learnt_temperature_is_the_one_of_evaluation_too() -> None:
    router = make_router(kind="none", temperature=0.1, learnable_temperature=True)
    assert router.log_temperature is not None
    with torch.no_grad():
        router.log_temperature.fill_(math.log(0.3))
    assert gate_at(router.eval()) == pytest.approx(gate_for(0.3), rel=1e-5)


def test_a_learnt_temperature_gets_its_gradient() -> None:
    # d gate / d log T = -gate (1 - gate) * 0.2 / T for the better of two.
    router = make_router(kind="none", temperature=0.1, learnable_temperature=True)
    assert router.log_temperature is not None
    route(router, [[0.6, 0.8]]).gates_TK[0, 0].backward()
    gate = gate_for(0.1)
    assert router.log_temperature.grad is not None
    assert float(router.log_temperature.grad) == pytest.approx(-gate * (1 - gate) * 2, rel=1e-4)


def test_sigmoid_gates_carry_magnitude() -> None:
    # 2 sigmoid(s / T) / K with s = (0.8, 0.6, -0.4), T = 0.5, K = 3.
    # 2/3 (0.8320 + 0.7685 + 0.3100) = 1.2737: they do not add up to 1.
    routing = route(make_router(top_k=3, kind="none", gates="sigmoid", temperature=0.5), [[0.6, 0.8]])
    assert routing.indices_TK.tolist() == [[1, 0, 3]]
    wanted = [2 / 3 / (1 + math.exp(-s / 0.5)) for s in (0.8, 0.6, -0.4)]
    torch.testing.assert_close(routing.gates_TK, torch.tensor([wanted]))
    assert float(routing.gates_TK.sum()) == pytest.approx(1.2737, abs=1e-3)


def entropy_of(temperature: float) -> float:
    gate = gate_for(temperature)
    return -gate * math.log(gate) - (1 - gate) * math.log(1 - gate)


@pytest.mark.parametrize(("low", "high", "outside"), [(0.3, 0.5, 0), (0.1, 0.3, +1), (0.5, 0.69, -1)])
def test_entropy_band(low: float, high: float, outside: int) -> None:
    """At T = 0.1 the gates of scores 0.8 and 0.6 have an entropy of 0.365 nats: inside, above and below these
    bands."""
    entropy = entropy_of(0.1)
    assert entropy == pytest.approx(0.3653, abs=1e-3)
    router = make_router(
        kind="none",
        temperature=0.1,
        learnable_temperature=True,
        entropy_band=(low, high),
        entropy_band_weight=0.5,
    )
    loss = route(router, [[0.6, 0.8]]).aux_loss
    distance = {0: 0.0, 1: entropy - high, -1: low - entropy}[outside]
    assert float(loss.detach()) == pytest.approx(0.5 * distance**2, rel=1e-3, abs=1e-9)
    loss.backward()
    assert router.log_temperature is not None
    assert router.log_temperature.grad is not None
    # Too much entropy: descent lowers the temperature (positive gradient); too little: it raises it.
    assert torch.sign(router.log_temperature.grad) == outside


def test_the_band_is_about_the_mean_over_counted_tokens() -> None:
    """One token with sharp gates and one with even gates are fine together; without the even one they are
    not."""
    router = make_router(kind="none", temperature=0.05, entropy_band=(0.2, 0.5), entropy_band_weight=1.0)
    x = [[1.0, 0.05], [1.0, 1.0]]  # entropies near 0 and ln 2
    assert float(route(router, x).aux_loss) == 0
    assert float(route(router, x, counted_T=torch.tensor([True, False])).aux_loss) > 0.03
    assert float(route(router, x, counted_T=torch.tensor([False, True])).aux_loss) > 0.03
    # Entropy 0.
    assert float(route(router, x, counted_T=torch.tensor([False, False])).aux_loss) == pytest.approx(0.04)
    assert float(route(router.eval(), x, counted_T=torch.tensor([True, False])).aux_loss) == 0


def test_the_band_waits_for_the_top_k_warm_up() -> None:
    router = make_router(kind="none", entropy_band=(0.1, 0.2), entropy_band_weight=1.0)
    assert float(route(router, [[0.6, 0.8]]).aux_loss) > 0
    router.num_active = 1
    assert float(route(router, [[0.6, 0.8]]).aux_loss) == 0


@pytest.mark.parametrize(
    ("warmup", "ramp", "wanted"),
    [
        (0.0, 0.0, [4] * 10),
        (0.2, 0.0, [1, 1] + [4] * 8),
        # The ramp covers four tenths of the run, one tenth a value.
        (0.2, 0.4, [1, 1, 1, 2, 3, 4, 4, 4, 4, 4]),
        (0.0, 0.8, [1, 1, 2, 2, 3, 3, 4, 4, 4, 4]),
    ],
)
def test_top_k_warm_up(warmup: float, ramp: float, wanted: list[int]) -> None:
    layer = small_layer(experts={"top_k": 4}, router={"top_k_warmup": warmup, "top_k_ramp": ramp})
    x_TD = tokens_of(3, 16)
    chosen: list[int] = []
    for step in range(5, 100, 10):  # in the middle of each tenth
        layer.set_progress_(step, 100)
        routing = layer(x_TD, details=True).routing
        assert routing.gates_TK.shape == routing.indices_TK.shape
        torch.testing.assert_close(routing.gates_TK.sum(dim=1), torch.ones(3))
        chosen.append(routing.indices_TK.shape[1])
    assert chosen == wanted


def test_top_k_warm_up_begins_with_one_and_ends_with_all() -> None:
    layer = small_layer(experts={"top_k": 4}, router={"top_k_warmup": 0.2, "top_k_ramp": 0.8})
    active: list[int] = []
    for step in range(50):
        layer.set_progress_(step, 50)
        active.append(layer.router.num_active)
    assert active[:11] == [1] * 11
    assert active == sorted(active)
    assert active[-1] == 4
    assert set(active) == {1, 2, 3, 4}


def test_grounding_adds_a_share_of_the_previous_query() -> None:
    router = make_router(kind="none", grounding=0.1)
    x, previous_TD = [[1.0, 2.0]], torch.tensor([[10.0, -10.0]])
    torch.testing.assert_close(
        route(router, x, previous_TD=previous_TD).raw_queries_TD, torch.tensor([[2.0, 1.0]])
    )
    torch.testing.assert_close(route(router, x).raw_queries_TD, torch.tensor([[1.0, 2.0]]))
    loose = make_router(kind="none")
    torch.testing.assert_close(
        route(loose, x, previous_TD=previous_TD).raw_queries_TD, torch.tensor([[1.0, 2.0]])
    )


def test_grounding_goes_from_layer_to_layer() -> None:
    first, second = (small_layer(router={"grounding": 0.1}, layer=layer, num_layers=2) for layer in (0, 1))
    x_TD = tokens_of(5, 16)
    query_TD = first(x_TD, details=True).query
    grounded = second(x_TD, previous_query=query_TD, details=True)
    alone = second(x_TD, details=True)
    torch.testing.assert_close(grounded.query, alone.query + 0.1 * query_TD)


def test_centred_queries() -> None:
    # (3, 5) minus the mean (0, 1) is (3, 4).
    centred = make_router(kind="none", centre_queries=True)
    routing = route(centred, [[3.0, 5.0]], query_mean=torch.tensor([0.0, 1.0]))
    torch.testing.assert_close(routing.queries_TD, torch.tensor([[0.6, 0.8]]))
    torch.testing.assert_close(routing.raw_queries_TD, torch.tensor([[3.0, 5.0]]))
    plain = route(make_router(kind="none"), [[3.0, 4.0]], query_mean=torch.tensor([0.0, 1.0]))
    torch.testing.assert_close(plain.queries_TD, torch.tensor([[0.6, 0.8]]))


def test_a_layer_learns_the_mean_it_subtracts() -> None:
    layer = small_layer(router={"kind": "none", "centre_queries": True})
    x_TD = tokens_of(200, 16) + 3.0
    layer(x_TD)
    layer.apply_gravity_()
    torch.testing.assert_close(layer.keystore.query_mean_D, x_TD.mean(dim=0))
    queries_TD = layer(x_TD, details=True).routing.queries_TD
    crowd, spread = (float(F.normalize(q_TD, dim=1).mean(dim=0).norm()) for q_TD in (x_TD, queries_TD))
    assert crowd > 0.9
    assert spread < 0.1


def test_load_bias_selects_but_does_not_weigh() -> None:
    router = make_router(kind="none")
    plain = route(router, [[0.6, 0.8]])
    # Lifted by 2, the opposite key is selected and comes first; its gate still follows its own score of -0.6.
    biased = route(router, [[0.6, 0.8]], load_bias=torch.tensor([0.0, 0.0, 2.0, 0.0]))
    assert plain.indices_TK.tolist() == [[1, 0]]
    assert biased.indices_TK.tolist() == [[2, 1]]
    low = 1 / (1 + math.exp(1.4))  # scores -0.6 and 0.8
    torch.testing.assert_close(biased.gates_TK, torch.tensor([[low, 1 - low]]))
    # A bias that does not change the choice changes nothing else.
    same = route(router, [[0.6, 0.8]], load_bias=torch.tensor([0.1, 0.1, 0.0, 0.0]))
    assert torch.equal(same.gates_TK, plain.gates_TK)


def test_balancing_loss_is_one_at_perfect_balance() -> None:
    logits_TE = torch.zeros(8, 4)
    indices_TK = torch.tensor([[0, 1], [2, 3]]).repeat(4, 1)
    assert float(balancing_loss(logits_TE, indices_TK, torch.full((8,), 1 / 8))) == pytest.approx(1.0)


def test_balancing_loss_by_hand() -> None:
    # Two tokens, three experts, one choice each, probabilities (0.5, 0.25, 0.25) and (0.25, 0.5, 0.25). Both
    # choose expert 0: load (1, 0, 0), mean probability of expert 0: 0.375; 3 * 0.375 = 1.125. Choosing 0 and
    # 1: 3 * (0.5 * 0.375 + 0.5 * 0.375) = 1.125 too; choosing 0 and 2: 3 * (0.1875 + 0.125) = 0.9375. With
    # the second token out of the loss: load (1, 0, 0), probability 0.5: 1.5.
    logits_TE = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]).log()
    even_T = torch.tensor([0.5, 0.5])
    for indices, wanted in (([[0], [0]], 1.125), ([[0], [1]], 1.125), ([[0], [2]], 0.9375)):
        assert float(balancing_loss(logits_TE, torch.tensor(indices), even_T)) == pytest.approx(wanted)
    assert float(
        balancing_loss(logits_TE, torch.tensor([[0], [2]]), torch.tensor([1.0, 0.0]))
    ) == pytest.approx(1.5)
    # Two choices each, (0, 1) and (0, 2): load (1/2, 1/4, 1/4), mean probability (0.375, 0.375, 0.25).
    both = float(balancing_loss(logits_TE, torch.tensor([[0, 1], [0, 2]]), even_T))
    assert both == pytest.approx(3 * (0.5 * 0.375 + 0.25 * 0.375 + 0.25 * 0.25))


def test_the_router_weighs_its_balancing_loss() -> None:
    router = make_router(kind="none", balance_loss=0.01, temperature=0.5)
    routing = route(router, [[0.6, 0.8], [1.0, 0.2]], counted_T=torch.tensor([True, False]))
    # Only the first token counts: load 1/2 on experts 1 and 0, probabilities softmax of (0.6, 0.8, -0.6,
    # -0.4) / 0.5.
    parts = [math.exp(s / 0.5) for s in (0.6, 0.8, -0.6, -0.4)]
    assert float(routing.aux_loss) == pytest.approx(
        0.01 * 4 * 0.5 * (parts[0] + parts[1]) / sum(parts), rel=1e-5
    )
    assert float(route(router.eval(), [[0.6, 0.8]]).aux_loss) == 0


def test_scores_are_fp32_under_bf16_autocast() -> None:
    """Two keys a thousandth apart: bf16, with its 8 bits, would take them for one."""
    keys_ED = F.normalize(torch.tensor([[1.0, 0.0], [1.0, 0.001], [-1.0, 0.0]]), dim=1)
    router = make_router(kind="none")
    x_TD = torch.tensor([[1.0, 1.0]]).repeat(3, 1)
    exact = route(router, x_TD, keys_ED)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = route(router, x_TD, keys_ED)
    assert exact.indices_TK.tolist() == [[1, 0]] * 3
    assert torch.equal(mixed.indices_TK, exact.indices_TK)
    assert torch.equal(mixed.gates_TK, exact.gates_TK)
    assert float(mixed.gates_TK[0, 0]) > 0.5
    linear = make_router(d_model=16, kind="linear")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        routing = route(linear, tokens_of(4, 16), tokens_of(6, 16, seed=1))
    assert routing.raw_queries_TD.dtype == torch.bfloat16
    assert routing.queries_TD.dtype == routing.gates_TK.dtype == torch.float32


@pytest.mark.parametrize("kind", ["linear", "mlp"])
def test_an_exact_query_network_under_bf16_autocast(kind: str) -> None:
    """The queries are those of a model in fp32, to the bit; in the model's own precision they are rounded."""
    x_TD, keys_ED = tokens_of(40, 16), tokens_of(8, 16, seed=1)
    exact, rounded = make_router(16, kind=kind, precision="fp32"), make_router(16, kind=kind)
    wanted = route(rounded, x_TD, keys_ED)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        kept, lost = route(exact, x_TD, keys_ED), route(rounded, x_TD, keys_ED)
    torch.testing.assert_close(kept.queries_TD, wanted.queries_TD, rtol=0, atol=0)
    assert (lost.queries_TD - wanted.queries_TD).abs().max() > 1e-4


def test_an_exact_query_network_in_a_model_cast_to_bf16() -> None:
    router = make_router(16, kind="mlp", precision="fp32").bfloat16()
    routing = route(router, tokens_of(5, 16).bfloat16(), tokens_of(8, 16, seed=1))
    assert routing.raw_queries_TD.dtype == torch.float32


def test_gradient_reaches_the_query_network_through_the_gates() -> None:
    router = make_router(d_model=6, kind="mlp")
    routing = route(router, tokens_of(4, 6), tokens_of(5, 6, seed=1))
    (routing.gates_TK * torch.rand(routing.gates_TK.shape, generator=random(0))).sum().backward()
    for parameter in router.parameters():
        assert parameter.grad is not None
        assert parameter.grad.any()
