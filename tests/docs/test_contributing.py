"""The worked example of CONTRIBUTING.md is run as it stands there: the rule, and its line in the order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from somelab.config import GravityConfig
from somelab.core.gravity import ORDER
from somelab.core.keystore import KeyStore
from somelab.core.statistics import RoutingStatistics

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"
STILL: dict[str, Any] = {"attraction": False, "peer_pull": False, "decay": False, "norm": "none"}


def block(title: str) -> str:
    found = re.findall(
        rf"^```python title={re.escape(title)}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    assert len(found) == 1, f"CONTRIBUTING.md should show {title} once"
    return found[0]


@pytest.fixture
def with_wind() -> Iterator[None]:
    """The order with the example's line in it, as if its two files had been changed."""
    wind: dict[str, Any] = {}
    exec(compile(block("src/somelab/core/gravity/wind.py"), "wind.py", "exec"), wind)
    names = {"wind": SimpleNamespace(**wind)}
    line = block("src/somelab/core/gravity/order.py")
    kept = list(ORDER)
    place = [rule.act.__name__ for rule in ORDER].index("step_cap")
    ORDER.insert(place, eval(line.strip().rstrip(","), names))
    yield
    ORDER[:] = kept


def drift(**settings: Any) -> torch.Tensor:
    store = KeyStore(4, 3, GravityConfig(**{**STILL, **settings}), seed=0)
    before_ED = store.keys_ED.clone()
    store.apply_(RoutingStatistics(4, 3, store.config))
    return store.keys_ED - before_ED


@pytest.mark.usefixtures("with_wind")
def test_the_example_rule_blows_all_keys_one_way() -> None:
    torch.testing.assert_close(drift(extra={"wind": 0.1}), torch.tensor([[0.1, 0.0, 0.0]] * 4))
    torch.testing.assert_close(drift(extra={"wind": 0.2}), torch.tensor([[0.2, 0.0, 0.0]] * 4))
    assert not drift().any()
    assert not drift(extra={"wind": 0.1}, frozen_layers=(True,)).any()


def test_the_example_is_written_like_a_rule_of_the_house() -> None:
    tree = ast.parse(block("src/somelab/core/gravity/wind.py"))
    assert ast.get_docstring(tree)
    (rule,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    assert [argument.arg for argument in rule.args.args] == ["state", "seen", "now"]
    assert "k_i" in (ast.get_docstring(rule) or "")
