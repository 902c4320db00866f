"""Profiles by kind: names are sorted into kinds, small kinds join the rest, and a real pass shows its
products."""

from __future__ import annotations

import pytest
import torch

from somelab.bench.shares import OTHER, rest, sentence, shares, shares_of


def test_shares_by_hand() -> None:
    events = [
        ("aten::mm", 60.0),
        ("aten::addmm", 20.0),
        ("aten::gelu_backward", 15.0),
        ("aten::copy_", 4.5),
        ("aten::sort", 0.5),
    ]
    found = shares_of(events)
    assert found == pytest.approx({"matrix products": 0.8, "gelu": 0.15, OTHER: 0.05})
    assert list(found) == ["matrix products", "gelu", OTHER]
    assert sentence("ours", found) == f"Profile of ours: matrix products 80%, gelu 15%, {OTHER} 5%."


def test_the_rest_is_what_a_step_could_do_without() -> None:
    found = shares_of(
        [
            ("aten::mm", 50.0),
            ("_FusedBackward", 10.0),
            ("Int8RowsBackward", 10.0),
            ("aten::gelu", 10.0),
            ("aten::copy_", 20.0),
        ]
    )
    assert rest(found) == pytest.approx(0.3)


def test_nothing_was_seen() -> None:
    assert shares_of([]) == {}


def test_a_real_product() -> None:
    one = torch.randn(512, 512)
    found = shares(lambda: one @ one)
    assert found["matrix products"] > 0.5
    assert sum(found.values()) == pytest.approx(1)
