"""Randomness that is passed in: streams that are unrelated, repeat, and never touch the global generator."""

from __future__ import annotations

import itertools
import math

import torch

from somelab.core.seeded import seeded_embedding, seeded_linear
from somelab.core.seeding import derive, generator
from tests.core.builders import random


def test_distinct_arguments_give_distinct_seeds() -> None:
    places = list(itertools.product([0, 1, 12], ["keys", "expert"], [0, 1, 2, 12], [0, 1, 2, 12]))
    seeds = {derive(*place) for place in places}
    assert len(seeds) == len(places)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_seeds_are_the_same_for_ever() -> None:
    """Checkpoints keep the origins of pools: these numbers may never change. The first 63 bits of BLAKE2b
    over "0/expert/1/2"."""
    assert derive(0, "expert", 1, 2) == 6343090973177962768
    assert torch.rand(1, generator=generator(0, "expert", 1, 2)).item() == 0.19331282377243042


def test_generators_repeat() -> None:
    draws = [torch.rand(5, generator=generator(3, "keys", 1)) for _ in range(2)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], torch.rand(5, generator=generator(3, "keys", 2)))


def test_a_draw_in_blocks_equals_the_draw_at_once() -> None:
    """What lets a large tensor be filled piece by piece from one generator (blocks of 16 and more)."""
    whole, rng = torch.empty(4, 64).uniform_(generator=random(0)), random(0)
    assert torch.equal(torch.cat([torch.empty(2, 64).uniform_(generator=rng) for _ in range(2)]), whole)


def test_a_seeded_linear_follows_the_law_of_linear() -> None:
    first, second, other = (seeded_linear(50, 40, bias=True, rng=random(seed)) for seed in (1, 1, 2))
    assert torch.equal(first.weight, second.weight)
    assert torch.equal(first.bias, second.bias)
    assert not torch.equal(first.weight, other.weight)
    for parameter in first.parameters():
        assert parameter.requires_grad
        assert parameter.abs().max() <= 1 / math.sqrt(50)
        assert parameter.abs().max() > 0.8 / math.sqrt(50)
    assert seeded_linear(5, 4, bias=False, rng=random(0)).bias is None


def test_a_seeded_embedding_follows_its_deviation() -> None:
    embedding = seeded_embedding(100, 50, std=0.02, rng=random(0))
    assert abs(float(embedding.weight.detach().std()) / 0.02 - 1) < 0.05
    assert torch.equal(embedding.weight, seeded_embedding(100, 50, std=0.02, rng=random(0)).weight)


def test_seeded_layers_leave_the_global_generator_alone() -> None:
    state = torch.get_rng_state()
    seeded_linear(5, 4, bias=True, rng=random(0))
    seeded_embedding(5, 4, std=1.0, rng=random(0))
    assert torch.equal(torch.get_rng_state(), state)
    with torch.device("meta"):
        assert seeded_linear(5, 4, bias=True, rng=random(0)).weight.is_meta
        assert seeded_embedding(5, 4, std=1.0, rng=random(0)).weight.is_meta
