"""Positions against hand-worked numbers: sinusoid, rotation, slopes, and the restart at each document.

Shape letters: B sequences, T tokens, H heads, C head width."""

from __future__ import annotations

import math

import pytest
import torch

from somelab.model.positions import (
    alibi_slopes,
    positions_within,
    rotate,
    rotation_at,
    segments_of,
    sinusoid_at,
    sinusoid_table,
)

CPU = torch.device("cpu")


def test_sinusoid_by_hand():
    table = sinusoid_table(4, 4, CPU)
    second = 10000**-0.5  # the second pair turns at 1/100 of the first one's speed
    expected = [math.sin(3), math.cos(3), math.sin(3 * second), math.cos(3 * second)]
    torch.testing.assert_close(table[3], torch.tensor(expected))
    assert table[0].tolist() == [0, 1, 0, 1]


def test_sinusoid_of_odd_width_drops_the_last_cosine():
    torch.testing.assert_close(
        sinusoid_table(5, 3, CPU)[:, 2], torch.sin(torch.arange(5) * 10000 ** (-2 / 3))
    )


def test_a_longer_table_begins_with_the_shorter_one():
    assert torch.equal(sinusoid_table(700, 24, CPU)[:9], sinusoid_table(9, 24, CPU))


def test_rotation_by_hand():
    rotation = rotation_at(torch.tensor([[2]]), 3, head_width=4, base=100.0)
    states = torch.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 1, 1, 4)
    first, second = 2.0, 2.0 / 10  # angles of the pairs (0, 2) and (1, 3): position / 100^(2i/4)
    expected = [
        math.cos(first) * 1 - math.sin(first) * 3,
        math.cos(second) * 2 - math.sin(second) * 4,
        math.cos(first) * 3 + math.sin(first) * 1,
        math.cos(second) * 4 + math.sin(second) * 2,
    ]
    torch.testing.assert_close(rotate(states, rotation).flatten(), torch.tensor(expected))


def test_rotated_products_depend_on_distance_alone():
    rng = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 1, 1, 1, 8, generator=rng)

    def product(query_at: int, key_at: int) -> float:
        turned = [
            rotate(states, rotation_at(torch.tensor([[place]]), 2000, 8, 10000.0))
            for states, place in ((query, query_at), (key, key_at))
        ]
        return float((turned[0] * turned[1]).sum())

    assert product(1007, 1002) == pytest.approx(product(5, 0), abs=1e-3)
    assert product(5, 0) != pytest.approx(product(6, 0), abs=1e-2)


def test_rotation_keeps_the_dtype():
    states = torch.ones(1, 2, 3, 4, dtype=torch.bfloat16)
    assert rotate(states, rotation_at(torch.arange(3)[None], 3, 4, 10000.0)).dtype == torch.bfloat16


def test_published_alibi_slopes():
    assert alibi_slopes(8) == [2.0**-power for power in range(1, 9)]
    assert alibi_slopes(1) == [2.0**-8]
    # Six heads: the four slopes of H = 4, then the first and third of H = 8.
    assert alibi_slopes(6) == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]


def test_positions_restart_with_each_document():
    documents = torch.tensor([[7, 7, 7, 3, 3, 9], [1, 2, 2, 2, 1, 1]])
    segments = segments_of(documents)
    assert segments.tolist() == [[0, 0, 0, 1, 1, 2], [0, 1, 1, 1, 2, 2]]  # id 1 comes back as a new document
    assert positions_within(segments).tolist() == [[0, 1, 2, 0, 1, 0], [0, 0, 1, 2, 0, 1]]


@pytest.mark.parametrize("num_positions", [4, 700], ids=["by the table", "without it"])
def test_a_place_is_the_same_to_the_bit_with_and_without_a_table(num_positions: int):
    """What generation adds to one new token is what training added there."""
    places = torch.tensor([[3, 0], [1, 3]])
    assert torch.equal(sinusoid_at(places, num_positions, 24), sinusoid_table(700, 24, CPU)[places])
    whole = rotation_at(torch.arange(700)[None], 700, 8, 10000.0)
    for found, expected in zip(rotation_at(places, num_positions, 8, 10000.0), whole):
        assert torch.equal(found[:, 0], expected[0, 0][places])
