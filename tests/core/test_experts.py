"""A frozen pool is a function of its origin: the same bits in any block size, thread or process.

Shape letters: D model width, F expert hidden width, E experts."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
import torch

from somelab.config import ExpertsConfig
from somelab.core.experts import DenseExperts
from somelab.core.experts.initialisers import INITIALISERS
from tests.core.builders import same_bits

NUM_EXPERTS, D_MODEL, D_FFN = 7, 12, 20


def make_pool(init: str = "default", *, seed: int = 3, layer: int = 1, **settings: Any) -> DenseExperts:
    whole: dict[str, Any] = {"num_experts": NUM_EXPERTS, "d_ffn": D_FFN, "top_k": 2, "init": init, **settings}
    return DenseExperts(D_MODEL, ExpertsConfig(**whole), seed=seed, layer=layer)


def spoil_(pool: DenseExperts) -> None:
    with torch.no_grad():
        for _, weight in pool.drawn_weights():
            weight.fill_(9.0)


@pytest.mark.parametrize("block", [1, 2, 3, 7])
@pytest.mark.parametrize("init", INITIALISERS)
def test_blocks_of_any_size_give_the_same_bits(init: str, block: int) -> None:
    pool = make_pool(init)
    whole = {name: weight.detach().clone() for name, weight in pool.drawn_weights()}
    digest = pool.digest()
    spoil_(pool)
    assert pool.digest() != digest
    for start in reversed(range(0, NUM_EXPERTS, block)):  # backwards: no block may lean on the one before
        pool.draw_(range(start, min(start + block, NUM_EXPERTS)))
    assert same_bits({name: weight.detach() for name, weight in pool.drawn_weights()}, whole)
    assert pool.digest() == digest


def test_a_block_touches_its_own_experts_only() -> None:
    pool = make_pool()
    spoil_(pool)
    pool.draw_(range(2, 4))
    for _, weight in pool.drawn_weights():
        assert (weight[[0, 1, 4, 5, 6]] == 9.0).all()
        assert not (weight[2:4] == 9.0).any()


PRINT_DIGESTS = """
from somelab.config import ExpertsConfig
from somelab.core.experts import DenseExperts
for init in ("default", "orthogonal", "sparse", "unit"):
    for storage in ("float32", "bfloat16"):
        config = ExpertsConfig(num_experts=7, d_ffn=20, top_k=2, init=init, storage=storage)
        print(DenseExperts(12, config, seed=3, layer=1).digest())
"""


def test_another_process_draws_the_same_pool() -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "77"}
    process = subprocess.run(
        [sys.executable, "-c", PRINT_DIGESTS], capture_output=True, text=True, check=True, env=environment
    )
    here = [
        make_pool(init, storage=storage).digest()
        for init in INITIALISERS
        for storage in ("float32", "bfloat16")
    ]
    assert process.stdout.split() == here
    assert len(set(here)) == 8


@pytest.mark.parametrize("init", INITIALISERS)
def test_the_number_of_threads_does_not_matter(init: str) -> None:
    """Of this size a QR decomposition differs in its last bits between one thread and two."""
    config = ExpertsConfig(num_experts=1, d_ffn=512, top_k=1, init=init)  # pyright: ignore[reportArgumentType]
    before, digests = torch.get_num_threads(), set[str]()
    for num_threads in (1, 2, 3):
        torch.set_num_threads(num_threads)
        digests.add(DenseExperts(256, config, seed=0, layer=0).digest())
        assert torch.get_num_threads() == num_threads
    torch.set_num_threads(before)
    assert len(digests) == 1


@pytest.mark.parametrize("name", ["down_EFD", "down_bias_EF", "up_EDF", "up_bias_ED"])
def test_one_bit_changes_the_digest(name: str) -> None:
    pool = make_pool()
    digest = pool.digest()
    weight = getattr(pool, name)
    bits = weight.detach().view(-1).view(torch.int32)
    bits[-1] ^= 1
    assert pool.digest() != digest
    bits[-1] ^= 1
    assert pool.digest() == digest


def test_exchanged_experts_change_the_digest() -> None:
    pool = make_pool()
    digest = pool.digest()
    with torch.no_grad():
        for _, weight in pool.drawn_weights():
            weight[[0, 1]] = weight[[1, 0]]
    assert pool.digest() != digest


@pytest.mark.parametrize("change", [{"seed": 4}, {"layer": 2}, {"init": "unit"}])
def test_the_origin_decides(change: dict[str, Any]) -> None:
    assert make_pool(**change).digest() != make_pool().digest()


def test_experts_differ_from_each_other() -> None:
    pool = make_pool()
    for _, weight in pool.drawn_weights():
        if weight.ndim == 3:
            flat_E = weight.detach().flatten(1)
            cosine_EE = torch.corrcoef(flat_E).fill_diagonal_(0)
            assert cosine_EE.abs().max() < 0.35  # of 240 numbers: five deviations


def test_a_smaller_pool_is_the_start_of_a_larger_one() -> None:
    small, large = make_pool(num_experts=4), make_pool(num_experts=9)
    assert torch.equal(small.down_EFD, large.down_EFD[:4])


def test_what_is_trained_does_not_change_what_is_drawn() -> None:
    frozen = make_pool()
    for trainability in ("gains", "readout", "lora", "full"):
        pool = make_pool(trainability=trainability)
        for name, weight in pool.drawn_weights():
            assert torch.equal(weight, getattr(frozen, name)), (trainability, name)


@pytest.mark.parametrize("trainability", ["gains", "lora"])
def test_what_is_trained_starts_neutral(trainability: str) -> None:
    """Gains of 1 and LoRA's zero factor do not change the frozen pool's outputs."""
    frozen, pool = make_pool(), make_pool(trainability=trainability)
    x_TD, indices_TK, gates_TK = (
        torch.randn(5, D_MODEL),
        torch.arange(10).view(5, 2) % NUM_EXPERTS,
        torch.rand(5, 2),
    )
    assert torch.equal(pool(x_TD, indices_TK, gates_TK), frozen(x_TD, indices_TK, gates_TK))


@pytest.mark.parametrize(
    ("trainability", "num_trained", "num_drawn"),
    [
        ("frozen", 0, 7 * (2 * 12 * 20 + 12 + 20)),
        ("gains", 7 * 20, 7 * (2 * 12 * 20 + 12 + 20)),
        ("readout", 12 * 20, 7 * (12 * 20 + 20)),
        ("lora", 7 * 3 * (12 + 20 + 20 + 12), 7 * (2 * 12 * 20 + 12 + 20)),
        ("full", 7 * (2 * 12 * 20 + 12 + 20), 7 * (2 * 12 * 20 + 12 + 20)),
    ],
)
def test_number_of_parameters(trainability: str, num_trained: int, num_drawn: int) -> None:
    pool = make_pool(trainability=trainability, lora_rank=3)
    assert sum(weight.numel() for weight in pool.parameters() if weight.requires_grad) == num_trained
    assert sum(weight.numel() for _, weight in pool.drawn_weights()) == num_drawn


def test_storage_in_bfloat16_rounds_the_drawn_weights_once() -> None:
    exact, rounded = make_pool(), make_pool(storage="bfloat16")
    for name, weight in rounded.drawn_weights():
        assert weight.dtype == torch.bfloat16
        assert torch.equal(weight, getattr(exact, name).bfloat16())
    gains = make_pool(storage="bfloat16", trainability="gains").gains_EF
    assert gains is not None
    assert gains.dtype == torch.float32, "what is trained stays exact"


def test_what_is_trained_in_full_is_not_rounded() -> None:
    pool = make_pool(storage="bfloat16", trainability="full")
    assert all(weight.dtype == torch.float32 for weight in pool.parameters())


def test_a_narrow_copy_of_frozen_weights_is_made_once() -> None:
    pool = make_pool()
    narrow = pool.weights_for(torch.bfloat16)
    assert torch.equal(narrow.down_EFD, pool.down_EFD.detach().bfloat16())
    assert pool.weights_for(torch.bfloat16) is narrow
    assert pool.weights_for(torch.float32).down_EFD is pool.down_EFD


def test_a_narrow_copy_follows_what_it_was_made_from() -> None:
    pool = make_pool()
    before = pool.weights_for(torch.bfloat16)
    spoil_(pool)
    after = pool.weights_for(torch.bfloat16)
    assert after is not before
    assert float(after.down_EFD.min()) == 9.0


@pytest.mark.parametrize(
    "settings", [{"storage": "bfloat16"}, {"trainability": "full"}, {"trainability": "lora"}]
)
def test_no_copy_where_it_would_cost_memory_or_lose_gradients(settings: dict[str, Any]) -> None:
    pool = make_pool(**settings)
    for dtype in (torch.float32, torch.bfloat16):
        assert pool.weights_for(dtype).down_EFD is pool.down_EFD
