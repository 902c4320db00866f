"""Every file of examples/ runs as it stands, and shows what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SAYS = {
    "train.py": r"validation loss \d\.\d{3} nats per token",
    "layer.py": r"step  59: loss [01]\.\d+, keys moved by",
    "grow.py": r"arithmetic: \d\.\d{3} -> \d\.\d{3}, stories: \d\.\d{3} -> \d\.\d{3}",
    "graft_gpt2.py": r"step  39: loss [0-2]\.",
    "rule.py": r"Gini of use: 0\.\d\d without the rule, 0\.\d\d with it",
    "callback.py": r"^20,\d+\.\d{4},\d\.\d{5},\d\.\d{5}$",
    "expert_family.py": r"shuffles: 131,072 frozen weights",
    "search_optuna.py": r"best: \{'train.learning_rate': 0\.\d+, 'experts.top_k': \d\}",
}


def test_every_example_is_run_and_listed() -> None:
    assert {file.name for file in EXAMPLES.glob("*.py")} == set(SAYS)
    page = (EXAMPLES / "README.md").read_text()
    assert set(re.findall(r"\]\((\w+\.py)\)", page)) == set(SAYS)


LONG = {"grow.py", "train.py"}
"""Half a minute each; what they call has tests of its own."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in SAYS]
)
def test_an_example_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "graft_gpt2.py":
        pytest.importorskip("transformers")
    if name == "search_optuna.py":
        pytest.importorskip("optuna", reason="the extra search is not installed")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    said = capsys.readouterr().out
    assert re.search(SAYS[name], said, re.MULTILINE), said
    if name == "rule.py":
        without, with_it = (float(value) for value in re.findall(r"0\.\d\d", said))
        assert with_it < without
