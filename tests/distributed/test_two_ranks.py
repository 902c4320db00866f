"""Two ranks on gloo see the statistics of the whole batch and move their keys alike, to the bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.distributed.ranks import (
    NUM_STEPS,
    NUM_TOKENS,
    WORLDS,
    both_ranks,
    counted_of,
    move_product,
    run_world,
    train_attached,
    train_block,
)

Results = list[dict[str, Any]]
EXACT = {"count_E", "num_tokens", "pairs", "draws"}
NO_TIE = 1e-5
"""A token nearer than this to another choice could be routed otherwise by rounding: the worlds have none."""


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return both_ranks(tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("world", WORLDS)
def test_statistics_are_those_of_the_whole_batch(ranks: Results, world: str) -> None:
    for rank in ranks:
        whole = run_world(world, slice(None))
        for step in range(NUM_STEPS):
            for layer, wanted in enumerate(whole["seen"][step]):
                got = rank[world]["seen"][step][layer]
                assert got.keys() == wanted.keys()
                assert wanted.pop("gap") > NO_TIE
                for name, value in wanted.items():
                    if name in EXACT:
                        assert torch.equal(got[name], value), (step, layer, name)
                    else:
                        torch.testing.assert_close(
                            got[name], value, rtol=1e-5, atol=1e-5, msg=f"{step} {layer} {name}"
                        )
    if world != "a share of the tokens":
        whole = run_world(world, slice(None))
        assert [float(step[0]["num_tokens"]) for step in whole["seen"]] == [
            int(counted_of(s).sum()) for s in range(NUM_STEPS)
        ]


@pytest.mark.parametrize("world", WORLDS)
def test_keys_follow_the_whole_batch_and_agree_to_the_bit(ranks: Results, world: str) -> None:
    whole = run_world(world, slice(None))
    first, second = (rank[world] for rank in ranks)
    assert first["digests"] == second["digests"]
    for layer, keys_ED in enumerate(whole["keys"]):
        torch.testing.assert_close(first["keys"][layer], keys_ED, rtol=0, atol=1e-5)
        assert torch.equal(first["born"][layer], whole["born"][layer])
    born_E = whole["born"][1]
    assert born_E.max() >= 0, "a rebirth was part of it"
    assert born_E.min() == -1, "and a key that only moved"


def test_ddp_trains_and_both_ranks_keep_the_same_keys(ranks: Results) -> None:
    first, second = (rank["ddp"] for rank in ranks)
    assert first["digest"] == second["digest"]
    assert all(torch.equal(first["trained"][name], second["trained"][name]) for name in first["trained"])
    alone = train_block(slice(None))
    assert alone["gap"] > NO_TIE
    torch.testing.assert_close(first["keys"], alone["keys"], rtol=0, atol=1e-4)
    torch.testing.assert_close(first["usage"], alone["usage"], rtol=1e-5, atol=1e-5)
    for name, wanted in alone["trained"].items():
        torch.testing.assert_close(first["trained"][name], wanted, rtol=0, atol=1e-4)


def test_half_of_a_batch_is_not_the_batch() -> None:
    """The comparison above can tell: without the collective a rank has other statistics and other keys."""
    whole, half = run_world("tables", slice(None)), run_world("tables", slice(0, NUM_TOKENS // 2))
    assert not torch.equal(half["seen"][0][0]["count_E"], whole["seen"][0][0]["count_E"])
    assert not torch.allclose(half["keys"][0], whole["keys"][0], rtol=0, atol=1e-3)


def test_an_attached_loop_needs_no_code_for_ddp(ranks: Results) -> None:
    """Keys are equal on both ranks and follow the tokens of both, although DDP synchronizes buffers by
    default."""
    first, second = (rank["attached"] for rank in ranks)
    alone = train_attached(slice(0, NUM_TOKENS))
    assert first["digest"] == second["digest"]
    torch.testing.assert_close(first["keys"], alone["keys"], rtol=1e-4, atol=1e-5)
    for mine, theirs, whole in zip(first["counts"], second["counts"], alone["counts"]):
        assert mine + theirs == whole


def test_sub_keys_follow_the_tokens_of_both_ranks(ranks: Results) -> None:
    first, second = (rank["product"] for rank in ranks)
    whole = move_product(slice(None))
    assert first["digest"] == second["digest"]
    torch.testing.assert_close(first["keys"], whole["keys"], rtol=0, atol=1e-4)
    torch.testing.assert_close(first["usage"], whole["usage"], rtol=1e-5, atol=1e-5)
    assert not torch.allclose(move_product(slice(0, NUM_TOKENS // 2))["keys"], whole["keys"], atol=1e-2)
