"""Every notebook runs from top to bottom, and holds the output of such a run."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs/notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_BYTES = 300_000


def cells(notebook: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def kinds(outputs: list[dict[str, Any]]) -> list[str]:
    """What a cell printed and drew, in its order."""
    return [output["output_type"] for output in outputs]


def test_there_is_a_notebook() -> None:
    assert "first_look.ipynb" in {path.name for path in NOTEBOOKS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_complete_and_small(path: Path) -> None:
    assert path.stat().st_size < MOST_BYTES
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    stored = [output for cell in cells(notebook, "code") for output in cell["outputs"]]
    assert any(output.get("text") for output in stored)
    assert any("image/png" in output.get("data", {}) for output in stored)
    counts = [cell["execution_count"] for cell in cells(notebook, "code")]
    assert counts == list(range(1, len(counts) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_somewhere(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in cells(notebook, "markdown"))
    targets = re.findall(r"\]\(([^)#\s]+)\)", text)
    assert targets
    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_as_stored(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    outputs = runpy.run_path(str(FOLDER / "run.py"))["run"](notebook, path.stem)
    assert [kinds(made) for made in outputs] == [kinds(cell["outputs"]) for cell in cells(notebook, "code")]
