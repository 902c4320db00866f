"""`bench layer`: what is compared is the same work, ratios are arithmetic, and the JSON holds what it
promises.

Shape letters: T tokens, D model width, E experts, K experts per token."""

from __future__ import annotations

import pytest
import torch

from somelab.bench import peers, routings
from somelab.bench.measuring import Timing
from somelab.bench.results import OURS, Result, Row, fastest, find, ratio, with_ratios
from somelab.bench.settings import Settings, Shape
from somelab.bench.suites import families, gemm, layer
from somelab.bench.suites.expert_pass import Load, Pass, load_of
from somelab.core.dispatch import ENGINES, ExpertWeights
from somelab.core.dispatch.reference import dispatch_reference

SMALL = Shape(32, 48, 8, 2, 128)
needs_transformers = pytest.mark.skipif(
    peers.installed("transformers") is None, reason="an extra: pip install 'somelab[bench]'"
)
needs_st_moe = pytest.mark.skipif(
    peers.installed("st-moe-pytorch") is None, reason="an extra: pip install 'somelab[bench]'"
)


@pytest.fixture(scope="module")
def quick() -> Result:
    return layer.run(Settings(quick=True, dtype="fp32", repetitions=1))


def test_every_contender_is_in_the_cases_it_is_measured_in(quick: Result) -> None:
    cases = [layer.case_of("uniform", direction) for direction in (layer.FORWARD, layer.BOTH)]
    names = {
        layer.AUTO,
        layer.NOTEBOOK,
        layer.DENSE,
        *(f"engine {name}" for name in ENGINES if name not in ("auto", "int8")),
    }
    for case in cases:
        there = {row.contender for row in quick.rows if row.case == case}
        assert names <= there
        assert any(row.kind == "peer" for row in quick.rows if row.case == case)
    for pattern in ("skewed", "collapsed"):
        case = layer.case_of(pattern, layer.BOTH)
        assert {row.contender for row in quick.rows if row.case == case} == set(layer.COMPARED)
    for row in quick.rows:
        assert (row.median is None) == (row.problem is not None)
        assert row.median is None or row.median > 0


def test_all_that_should_be_equal_is_equal(quick: Result) -> None:
    compared = [row for row in quick.rows if row.kind in ("engine", "notebook") and row.problem is None]
    assert compared
    for row in compared:
        assert row.details["difference"] < 1e-5


def test_other_families_are_measured_and_the_int8_pool_is_near(quick: Result) -> None:
    case = layer.case_of("uniform", layer.BOTH)
    for name in (families.INT8_POOL, families.HADAMARD, families.HADAMARD_BLOCK, families.DENSE_EQUAL):
        row = find(quick.rows, case, name)
        assert row is not None
        assert row.median
    rows = [row for row in quick.rows if row.contender == families.INT8_POOL]
    assert all(0 < row.details["difference"] < 0.03 for row in rows)
    wanted = {"int8_notebook_uniform", "int8_notebook_skewed", "int8_peak", "hadamard_frozen"}
    assert all(quick.ratios[key] for key in (*wanted, "modulated_hadamard", "hadamard_dense_equal"))


def test_family_ratios_by_hand() -> None:
    uniform, skewed = layer.case_of("uniform", layer.BOTH), layer.case_of("skewed", layer.BOTH)
    rows = [
        Row(uniform, layer.AUTO, "ours", 6.0),
        Row(uniform, layer.NOTEBOOK, "notebook", 9.0),
        Row(skewed, layer.NOTEBOOK, "notebook", 12.0),
        Row(uniform, families.INT8_POOL, "int8", 2.0),
        Row(skewed, families.INT8_POOL, "int8", 3.0),
        Row(uniform, families.HADAMARD, "hadamard", 0.5),
        Row(uniform, families.MODULATED, "hadamard", 0.25),
        Row(uniform, families.HADAMARD_BLOCK, "hadamard", 0.8),
        Row(uniform, families.DENSE_EQUAL, "dense", 0.4),
        Row(uniform, "one", "peer", 7.0),
        Row(uniform, "other", "peer", 8.0),
    ]
    shape = Shape(10, 10, 4, 1, 100)  # four products of 2 x 100 x 10 x 10 operations: 80,000
    assert layer.family_ratios(rows, shape, int8_peak=80_000 / 1e9) == {
        "int8_notebook_uniform": 4.5,
        "int8_notebook_skewed": 4.0,
        "int8_best_peer": 3.5,
        "int8_peak": pytest.approx(0.5),
        "hadamard_frozen": 12.0,
        "modulated_hadamard": 2.0,
        "hadamard_dense_equal": 0.5,
    }


def test_a_wrong_answer_shows() -> None:
    shape = Shape(16, 16, 4, 2, 32)
    entrants = layer._ours(shape, Settings(dtype="fp32"))
    passes, _ = layer._prepared(entrants, load_of(shape, "uniform", torch.float32))
    right = passes[layer.NOTEBOOK]
    passes[layer.NOTEBOOK] = Pass(lambda: right.forward() * 1.5, right.leaves, right.grad)
    assert layer._differences(entrants, passes)[layer.NOTEBOOK] == pytest.approx(0.5, rel=1e-4)


def test_the_ratios_are_those_of_the_rows(quick: Result) -> None:
    uniform, skewed = "uniform, forward + backward", "skewed, forward + backward"
    ours = find(quick.rows, uniform, layer.AUTO)
    notebook, dense = find(quick.rows, uniform, layer.NOTEBOOK), find(quick.rows, uniform, layer.DENSE)
    assert ours is not None
    assert ours.median is not None
    assert notebook is not None
    assert dense is not None
    assert ours.ratio == 1.0
    assert quick.ratios["notebook_uniform"] == ratio(notebook.median, ours.median)
    assert quick.ratios["dense_trained"] == ratio(dense.median, ours.median)
    skewed_notebook = find(quick.rows, skewed, layer.NOTEBOOK)
    assert skewed_notebook is not None
    assert quick.ratios["notebook_skewed"] == skewed_notebook.ratio
    peak = find(quick.rows, "square products", "GEMM peak fp32")
    assert peak is not None
    assert peak.median is not None
    at_peak = quick.settings["frozen_gflop"] / peak.median
    assert quick.ratios["gemm_peak"] == pytest.approx(at_peak / ours.median)


def test_ratio_arithmetic_by_hand() -> None:
    shape = Shape()
    case, skewed = "uniform, forward + backward", "skewed, forward + backward"
    rows = with_ratios(
        [
            Row(case, layer.AUTO, OURS, 0.1),
            Row(case, layer.NOTEBOOK, "notebook", 0.7),
            Row(case, layer.DENSE, "dense", 0.25),
            Row(case, "slow", "peer", 0.9),
            Row(case, "quick", "peer", 0.4),
            Row(case, "absent", "peer", problem="not installed"),
            Row(case, "a part", "part", 0.05),
            Row(skewed, layer.AUTO, OURS, 0.2),
            Row(skewed, layer.NOTEBOOK, "notebook", 1.8),
        ]
    )
    found = layer.ratios_of(rows, shape, peak=2000.0)
    assert found.pop("best_peer_name") == "quick"
    expected = {"notebook_uniform": 7.0, "notebook_skewed": 9.0, "dense_trained": 2.5, "best_peer": 4.0}
    # 8192 x 4 rows, 512 x 1024 weights, two operations, four products: 137.4 GFLOP; 0.0687 s at 2,000
    # GFLOP/s.
    assert shape.frozen_flops == 4 * 2 * 8192 * 4 * 512 * 1024 == 137_438_953_472
    assert found == pytest.approx({**expected, "gemm_peak": 0.0687194767 / 0.1})
    assert [row.ratio for row in rows if row.contender in ("absent", "a part")] == [None, None]
    assert ratio(1.0, None) is None
    assert fastest(rows, skewed, "peer") is None


def test_without_peers_there_is_no_best_one() -> None:
    case = "uniform, forward + backward"
    rows = with_ratios([Row(case, layer.AUTO, OURS, 0.1), Row(case, "x", "peer", problem="not installed")])
    found = layer.ratios_of(rows, Shape(), 1.0)
    assert found["best_peer"] is None
    assert found["best_peer_name"] is None


def test_the_peak_is_the_best_product_of_all() -> None:
    timings = [
        {"product fp32 1000": Timing((0.02, 0.01)), "other": Timing((1e-9,))},
        {"product bf16 1000": Timing((0.1,))},
    ]
    assert gemm.peaks(timings) == pytest.approx({"fp32": 200.0, "bf16": 20.0})
    both = [*timings, {"product fp32 2000": Timing((0.016,))}]
    assert gemm.peaks(both)["fp32"] == pytest.approx(1000.0)


def test_patterns_by_their_loads() -> None:
    num_tokens, num_experts, top_k = 4000, 32, 4
    shares = dict[str, torch.Tensor]()
    for pattern in routings.PATTERNS:
        indices_TK = routings.choices(pattern, num_tokens, num_experts, top_k)
        assert indices_TK.shape == (num_tokens, top_k)
        assert all(len(set(row)) == top_k for row in indices_TK[:200].tolist())
        shares[pattern] = (
            torch.bincount(indices_TK.reshape(-1), minlength=num_experts).sort(descending=True).values
            / num_tokens
        )
    assert 0.10 < shares["uniform"].min() < top_k / num_experts < shares["uniform"].max() < 0.15
    assert shares["collapsed"].tolist() == [1.0] * top_k + [0.0] * (num_experts - top_k)
    assert shares["skewed"][0] > 0.9
    assert shares["skewed"][-1] < 0.04


def test_zipf_weights_for_one_expert_a_token() -> None:
    """With K = 1 the counts are the weights themselves: the second favourite has 2^-1.5 of the first."""
    count_E = (
        torch.bincount(routings.choices("skewed", 200_000, 8, 1).reshape(-1))
        .sort(descending=True)
        .values.float()
    )
    rank_E = torch.arange(1, 9, dtype=torch.float32)
    torch.testing.assert_close(
        count_E / count_E.sum(), rank_E**-1.5 / (rank_E**-1.5).sum(), rtol=0.05, atol=0
    )


def test_gates_add_up_to_one() -> None:
    gates_TK = routings.gates(50, 4)
    torch.testing.assert_close(gates_TK.sum(dim=1), torch.ones(50))


def test_a_peer_that_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "installed", lambda package: None)
    for entrant in peers.peers(torch.float32):
        with pytest.raises(peers.NotMeasured, match=r"not installed: pip install 'somelab\[bench\]'"):
            entrant.prepare(load_of(SMALL, "uniform", torch.float32))


@pytest.mark.parametrize(("d_ffn", "width"), [(1024, 688), (48, 32), (96, 64), (8, 16)])
def test_three_matrices_of_two_thirds(d_ffn: int, width: int) -> None:
    assert peers.hidden_width(d_ffn) == width


@needs_transformers
def test_copying_an_expert_for_every_token_is_refused_where_it_does_not_fit() -> None:
    entrant = next(entrant for entrant in peers.peers(torch.float32) if entrant.name == "Mixtral batched_mm")
    load = load_of(SMALL, "uniform", torch.float32)
    entrant.prepare(load)
    huge = Load(Shape(), "uniform", load.x_TD, load.indices_TK, load.gates_TK, load.grad_TD)
    with pytest.raises(peers.NotMeasured, match="139 GB of weights"):
        entrant.prepare(huge)


@needs_transformers
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_mixtral_answers_with_gradients(dtype: torch.dtype) -> None:
    measured = 0
    for entrant in peers.peers(dtype):
        if entrant.name in ("Mixtral eager", "Mixtral batched_mm", "Mixtral grouped_mm"):
            load = load_of(SMALL, "skewed", dtype)
            prepared = entrant.prepare(load)
            answer = prepared.run_forward()
            assert answer.shape == load.x_TD.shape
            assert bool(answer.isfinite().all())
            assert float(answer.float().abs().max()) > 0
            grads = prepared.run_both()
            assert [grad.shape for grad in grads] == [load.x_TD.shape, load.gates_TK.shape]
            assert all(float(grad.float().abs().sum()) > 0 for grad in grads)
            measured += 1
    assert measured == 3


def plain_weights(shape: Shape) -> ExpertWeights:
    rng = torch.Generator().manual_seed(3)
    down_EFD, up_EDF = (
        torch.randn(shape.num_experts, *size, generator=rng) * 0.2
        for size in ((shape.d_ffn, shape.d_model), (shape.d_model, shape.d_ffn))
    )
    return ExpertWeights(
        down_EFD,
        torch.zeros(shape.num_experts, shape.d_ffn),
        up_EDF,
        torch.zeros(shape.num_experts, shape.d_model),
    )


@needs_transformers
@pytest.mark.parametrize("backend", ["eager", "batched_mm", "grouped_mm"])
def test_mixtral_with_an_open_gate_is_our_expert(backend: str) -> None:
    """gelu(gate) * up is gelu(gate) where up(x) = 1: where it reads a coordinate that is 1 in every token."""
    load = load_of(SMALL, "uniform", torch.float32)
    x_TD = load.x_TD.detach().clone()
    x_TD[:, 0] = 1.0
    weights = plain_weights(SMALL)
    assert weights.up_EDF is not None
    experts = peers.mixtral_experts(SMALL, backend, "gelu", SMALL.d_ffn)
    constant_EFD = torch.zeros_like(weights.down_EFD)
    constant_EFD[:, :, 0] = 1.0
    experts.gate_up_proj = torch.nn.Parameter(torch.cat([weights.down_EFD, constant_EFD], dim=1))
    experts.down_proj = torch.nn.Parameter(weights.up_EDF)
    ours = dispatch_reference(x_TD, load.indices_TK, load.gates_TK, weights)
    torch.testing.assert_close(experts(x_TD, load.indices_TK, load.gates_TK), ours, rtol=1e-4, atol=1e-4)


@needs_st_moe
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_st_moe_answers_with_gradients_and_says_what_it_drops(dtype: torch.dtype) -> None:
    entrant = next(entrant for entrant in peers.peers(dtype) if entrant.name == "st-moe-pytorch")
    prepared = {pattern: entrant.prepare(load_of(SMALL, pattern, dtype)) for pattern in routings.PATTERNS}
    for one in prepared.values():
        assert bool(one.run_forward().isfinite().all())
        assert all(float(grad.float().abs().sum()) > 0 for grad in one.run_both())
    # 128 tokens choose the same two experts, and each has room for 1.25 x 128 x 2 / 8 = 40 of them: 88 of 128
    # are left out.
    assert "68.8% of selections dropped" in prepared["collapsed"].note


@needs_st_moe
def test_st_moe_with_an_open_gate_and_room_for_all_is_our_expert() -> None:
    shape = Shape(32, 48, 4, 2, 64)
    load = load_of(shape, "uniform", torch.float32)
    weights = plain_weights(shape)
    assert weights.up_EDF is not None
    moe = peers.st_moe_layer(shape, capacity=4.0)
    width = shape.d_ffn * 2 // 3
    with torch.no_grad():
        for number, expert in enumerate(moe.experts.experts):
            into, _, out = expert.net
            into.weight[:width].zero_()  # the half that multiplies: 1 by its bias
            into.bias[:width].fill_(1.0)
            into.weight[width:].copy_(weights.down_EFD[number, :width])
            into.bias[width:].zero_()
            out.weight.copy_(weights.up_EDF[number, :, :width])
            out.bias.zero_()
    moe.gate.to_gates = peers.GivenLogits(load, 64)
    answer = moe(load.x_TD.detach()[None]).outputs[0]
    narrow = ExpertWeights(
        weights.down_EFD[:, :width],
        weights.down_bias_EF[:, :width],
        weights.up_EDF[:, :, :width],
        weights.up_bias_ED,
    )
    ours = dispatch_reference(load.x_TD.detach(), load.indices_TK, load.gates_TK.detach(), narrow)
    torch.testing.assert_close(answer, ours, rtol=1e-4, atol=1e-4)
