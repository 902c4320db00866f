"""Experts grown on a pretrained model: each learns its own text, and everything older stays to the bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from somelab.cli.main import main
from somelab.pretrained.growing import Texts, grow
from somelab.pretrained.reading.passes import fingerprint
from tests.pretrained.conftest import llama


def rows_of(low: int, high: int, num: int) -> torch.Tensor:
    """Rows that count up through a range of tokens, each from another place."""
    starts = torch.arange(num)[:, None] * 3 + torch.arange(48)
    return low + starts.remainder(high - low)


@pytest.fixture(scope="module")
def grown() -> tuple[Any, Any, dict[str, Any]]:
    model = llama()
    home = Texts(rows_of(0, 20, 6), rows_of(0, 20, 9)[6:])
    texts = {
        name: Texts(rows_of(low, low + 20, 30), rows_of(low, low + 20, 33)[30:])
        for name, low in (("a", 20), ("b", 40))
    }
    before = fingerprint(model)
    pool, record = grow(model, home, texts, 0.02, lambda line: None)
    assert fingerprint(model) == before
    return model, pool, record


def test_each_growth_learns_its_text_and_leaves_the_others(grown: tuple[Any, Any, dict[str, Any]]) -> None:
    _, _, record = grown
    first, after_a, after_b = record["loss"]
    assert after_a["a"] < first["a"] - 0.5
    assert after_b["b"] < first["b"] - 0.5
    assert after_b["a"] == pytest.approx(after_a["a"], abs=0.05)
    assert after_b["home"] == pytest.approx(first["home"], abs=0.05)
    assert record["change"]["a"]["mean"] == pytest.approx(after_b["a"] - first["a"], abs=1e-6)
    assert record["served"]["b"]["b"] > 0.9
    assert record["old_experts_exact"]
    assert record["model_exact"]


def test_without_the_pool_the_model_computes_what_it_did(grown: tuple[Any, Any, dict[str, Any]]) -> None:
    model, pool, _ = grown
    rows_BS = rows_of(20, 40, 1)
    pool.detach_()
    with torch.no_grad():
        assert torch.equal(model(rows_BS).logits, llama()(rows_BS).logits)


def test_the_command_grows_on_a_folder(tiny_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = [
        "grow",
        str(tiny_folder),
        "--data",
        "builtin:recipe",
        "--home",
        "builtin:story",
        "--tokens",
        "1024",
    ]
    assert main([*call, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in record["generations"]] == ["recipe"]
    assert record["model_exact"]
    assert main([*call, "--experts", "2"]) == 2
    assert "leave it out for a pretrained model" in capsys.readouterr().err
    assert main([*call, "--name", "home"]) == 2
    assert "give one name for each" in capsys.readouterr().err
