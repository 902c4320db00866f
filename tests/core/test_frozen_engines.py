"""The engines for frozen experts, whatever they are given: they equal the oracle in fp32, and in bf16 they
are no further from the truth than the oracle is in bf16. And nothing of one call leaks into another.

Shape letters: T tokens, D model width, F hidden width, E experts, K experts per token."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from somelab.core.dispatch import ENGINES, ExpertWeights
from somelab.core.dispatch.blocks import LARGEST, cut, sort_by_expert
from somelab.core.dispatch.kernels import register_
from somelab.native.table import NativeKernels
from tests.core.builders import random

NAMES = ["frozen", "native", "grouped_mm"]


class Load(NamedTuple):
    """Everything that goes into one call."""

    x_TD: Tensor
    indices_TK: Tensor
    gates_TK: Tensor
    weights: ExpertWeights
    grad_TO: Tensor


def load_of(
    num_tokens: int = 33,
    d_model: int = 24,
    d_ffn: int = 40,
    num_experts: int = 6,
    top_k: int = 2,
    *,
    routing: str = "uniform",
    readout: bool = False,
    storage: torch.dtype = torch.float32,
    seed: int = 0,
) -> Load:
    rng = random(seed)
    share_E = {
        "uniform": torch.ones(num_experts),
        "skewed": torch.arange(1, num_experts + 1).float() ** -1.5,
        "collapsed": torch.cat([torch.full((top_k,), 1.0), torch.full((num_experts - top_k,), 1e-20)]),
    }[routing]
    indices_TK = torch.multinomial(share_E.expand(num_tokens, -1), top_k, generator=rng)
    down_EFD = torch.randn(num_experts, d_ffn, d_model, generator=rng) / d_model**0.5
    up_EDF = torch.randn(num_experts, d_model, d_ffn, generator=rng) / d_ffn**0.5
    biases = torch.randn(num_experts, d_ffn, generator=rng), torch.randn(num_experts, d_model, generator=rng)
    weights = ExpertWeights(
        down_EFD.to(storage),
        biases[0].to(storage),
        None if readout else up_EDF.to(storage),
        None if readout else biases[1].to(storage),
    )
    x_TD = torch.randn(num_tokens, d_model, generator=rng)
    gates_TK = torch.rand(num_tokens, top_k, generator=rng)
    return Load(x_TD, indices_TK, gates_TK, weights, torch.randn(num_tokens, weights.d_out, generator=rng))


def run(name: str, load: Load, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """The outputs, and the gradients of tokens and gates."""
    x_TD, gates_TK = load.x_TD.to(dtype, copy=True).requires_grad_(), load.gates_TK.clone().requires_grad_()
    output = ENGINES[name](x_TD, load.indices_TK, gates_TK, load.weights)
    return output.detach(), *torch.autograd.grad(output, (x_TD, gates_TK), load.grad_TO.to(output.dtype))


def distance(got: Tensor, wanted: Tensor) -> float:
    return float((got.double() - wanted.double()).norm() / wanted.double().norm().clamp(min=1e-30))


def loads(num_tokens: list[int], d_model: list[int], d_ffn: list[int]) -> st.SearchStrategy[Load]:
    return st.builds(
        load_of,
        st.sampled_from(num_tokens),
        st.sampled_from(d_model),
        st.sampled_from(d_ffn),
        st.integers(3, 9),
        st.integers(1, 3),
        routing=st.sampled_from(["uniform", "skewed", "collapsed"]),
        readout=st.booleans(),
        storage=st.sampled_from([torch.float32, torch.bfloat16]),
        seed=st.integers(0, 100),
    )


def fits(name: str, load: Load) -> bool:
    """A grouped matmul takes rows of whole 16 bytes only."""
    return name != "grouped_mm" or all(width % 8 == 0 for width in load.weights.down_EFD.shape[1:])


@given(load=loads([1, 2, 7, 63, 64, 65, 130], [3, 8, 16, 24, 33], [1, 8, 15, 40, 48]))
def test_in_fp32_they_are_the_oracle(load: Load, compiled: NativeKernels) -> None:
    register_(compiled)
    try:
        wanted = run("reference", load)
        for name in NAMES:
            if fits(name, load):
                for got, right in zip(run(name, load), wanted):
                    assert got.shape == right.shape
                    assert distance(got, right) < 2e-6, name
    finally:
        register_(None)


@given(load=loads([33, 64, 65, 130], [16, 24, 33], [15, 40, 48]))
@settings(max_examples=30)
def test_in_bf16_they_are_as_near_to_the_truth_as_the_oracle_is_in_bf16(
    load: Load, compiled: NativeKernels
) -> None:
    """The truth: the same bf16 tokens, weights and gradient, computed in fp32."""
    register_(compiled)
    try:
        rounded = load.weights._replace(
            **{k: v.bfloat16().float() for k, v in load.weights._asdict().items() if v is not None}
        )
        exact = load._replace(
            x_TD=load.x_TD.bfloat16().float(), weights=rounded, grad_TO=load.grad_TO.bfloat16().float()
        )
        truth = run("reference", exact)
        slow = [distance(got, right) for got, right in zip(run("reference", load, torch.bfloat16), truth)]
        for name in NAMES:
            if fits(name, load):
                for got, right, error in zip(run(name, load, torch.bfloat16), truth, slow):
                    # Torch rounds each term of the gate's gradient to bf16, where autograd's product with an
                    # fp32 gate does not.
                    assert distance(got, right) < 2 * error + 1e-3, name
    finally:
        register_(None)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_need_not_lie_in_order(name: str) -> None:
    load = load_of()
    wanted = run("reference", load)
    x_TD = load.x_TD.T.contiguous().T.requires_grad_()
    gates_TK = load.gates_TK.T.contiguous().T.requires_grad_()
    indices_TK = load.indices_TK.T.contiguous().T
    assert not x_TD.is_contiguous()
    assert not gates_TK.is_contiguous()
    output = ENGINES[name](x_TD, indices_TK, gates_TK, load.weights)
    grad_TO = load.grad_TO.T.contiguous().T
    for got, right in zip((output.detach(), *torch.autograd.grad(output, (x_TD, gates_TK), grad_TO)), wanted):
        assert distance(got, right) < 2e-6


@pytest.mark.parametrize("name", NAMES)
def test_a_gradient_of_one_number_repeated(name: str) -> None:
    """`output.sum().backward()` hands over a gradient without memory of its own."""
    load = load_of()
    x_TD = load.x_TD.clone().requires_grad_()
    ENGINES[name](x_TD, load.indices_TK, load.gates_TK, load.weights).sum().backward()
    _, right, _ = run("reference", load._replace(grad_TO=torch.ones_like(load.grad_TO)))
    assert x_TD.grad is not None
    assert distance(x_TD.grad, right) < 2e-6


@pytest.mark.parametrize("name", NAMES)
def test_autocast_is_a_cast_of_the_tokens(name: str) -> None:
    load = load_of(routing="skewed")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = run(name, load)
    plain = run(name, load, torch.bfloat16)
    assert cast[0].dtype == torch.bfloat16
    assert torch.equal(cast[0], plain[0])
    assert cast[1].dtype == torch.float32
    assert torch.equal(cast[1], plain[1].float())
    assert torch.equal(cast[2], plain[2])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_the_bits_are_the_same(name: str, mode: type[torch.no_grad]) -> None:
    load = load_of(num_tokens=200)
    wanted = run(name, load)[0]
    with mode():
        assert torch.equal(ENGINES[name](load.x_TD, load.indices_TK, load.gates_TK, load.weights), wanted)
    assert torch.equal(run(name, load)[0], wanted), "what it left behind disturbs nobody"


@pytest.mark.parametrize("name", NAMES)
def test_recompute_gives_the_same_bits(name: str) -> None:
    load = load_of(num_tokens=100)
    wanted = run(name, load)
    x_TD, gates_TK = load.x_TD.clone().requires_grad_(), load.gates_TK.clone().requires_grad_()
    output = checkpoint(ENGINES[name], x_TD, load.indices_TK, gates_TK, load.weights, use_reentrant=False)
    got = (output.detach(), *torch.autograd.grad(output, (x_TD, gates_TK), load.grad_TO))
    assert all(torch.equal(a, b) for a, b in zip(got, wanted))


@pytest.mark.parametrize("name", NAMES)
def test_two_calls_may_be_under_way(name: str) -> None:
    """Backward in the order of the calls and not in reverse: buffers that were reused too soon would show."""
    first, second = load_of(seed=1), load_of(seed=2, num_tokens=90)
    leaves, outputs = list[list[Tensor]](), list[Tensor]()
    for load in (first, second):
        leaves.append([load.x_TD.clone().requires_grad_(), load.gates_TK.clone().requires_grad_()])
        outputs.append(ENGINES[name](leaves[-1][0], load.indices_TK, leaves[-1][1], load.weights))
    for load, ours, output in zip((first, second), leaves, outputs):
        got = (output.detach(), *torch.autograd.grad(output, ours, load.grad_TO))
        assert all(torch.equal(a, b) for a, b in zip(got, run(name, load)))


@pytest.mark.parametrize("name", ["frozen", "native"])
def test_more_pairs_than_a_block_holds(name: str) -> None:
    load = load_of(num_tokens=LARGEST + 70, num_experts=3, routing="collapsed", d_model=8, d_ffn=16)
    for got, right in zip(run(name, load), run("reference", load)):
        assert distance(got, right) < 2e-6


@pytest.mark.parametrize("name", NAMES)
def test_an_expert_may_be_named_twice(name: str) -> None:
    """No router does that; if one did, the output would count twice, as it does for the oracle."""
    load = load_of()
    load = load._replace(indices_TK=load.indices_TK[:, :1].repeat(1, 2))
    for got, right in zip(run(name, load), run("reference", load)):
        assert distance(got, right) < 2e-6


@pytest.mark.parametrize("name", ["frozen", "native"])
def test_a_number_that_is_none_spoils_its_own_token_only(name: str) -> None:
    load = load_of(num_tokens=70)
    load.x_TD[5, 3] = float("nan")
    output, grad_x_TD, _ = run(name, load)
    spoilt_T = output.isnan().any(dim=1)
    assert spoilt_T.nonzero().flatten().tolist() == [5]
    assert grad_x_TD.isnan().any(dim=1).nonzero().flatten().tolist() == [5]


@pytest.mark.parametrize("name", ["frozen", "native"])
def test_what_is_kept_for_backward_is_the_hidden_inputs(name: str) -> None:
    """In the type that is computed in, and one row a pair beside the filling of the last block."""
    load = load_of(num_tokens=100, top_k=2, d_ffn=40)
    sizes = list[int]()

    def note(tensor: Tensor) -> Tensor:
        sizes.append(tensor.numel() * tensor.element_size())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        x_TD = load.x_TD.bfloat16().requires_grad_()
        ENGINES[name](x_TD, load.indices_TK, load.gates_TK, load.weights)
    assert sorted(sizes) == [100 * 2 * 4, (200 + 64) * 40 * 2]


def test_blocks_cover_every_pair_once() -> None:
    load = load_of(num_tokens=3000, num_experts=5, top_k=2, routing="skewed")
    pairs = sort_by_expert(load.indices_TK)
    blocks = cut(pairs, 5, 3000)
    assert [block.begin for block in blocks] == [0, *(block.end for block in blocks[:-1])]
    assert blocks[-1].end == 6000
    assert torch.equal(load.indices_TK.flatten()[pairs.order_P], pairs.expert_P)
    for block in blocks:
        assert (pairs.expert_P[block.begin : block.end] == block.expert).all()
        assert block.num_rows % 64 == 0
        assert 0 <= block.num_rows - (block.end - block.begin) < 64
        assert block.num_rows <= LARGEST
    assert torch.equal(pairs.back_to_tokens(pairs.gates(load.gates_TK), load.gates_TK), load.gates_TK)
    counts = torch.bincount(load.indices_TK.flatten(), minlength=7)
    assert torch.equal(pairs.ends(7).long(), counts.cumsum(0))
