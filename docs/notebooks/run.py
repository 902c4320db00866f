"""Run the notebooks of this folder and store what they print and draw: `python docs/notebooks/run.py`.

It needs no Jupyter: code cells are executed in order, in one namespace and in a temporary folder."""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
DPI = 72


def run(notebook: dict[str, Any], name: str = "notebook") -> list[list[dict[str, Any]]]:
    """The outputs of every code cell, in the current folder: text, then figures."""
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    plt.close("all")  # figures that were open before are not of this notebook
    names: dict[str, Any] = {"__name__": name}
    sources = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [_outputs(source, names, f"{name}, code cell {number}") for number, source in enumerate(sources)]


def stored(notebook: dict[str, Any], outputs: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """The notebook with these outputs."""
    cells: list[dict[str, Any]] = []
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell = {**cell, "execution_count": number + 1, "outputs": outputs[number]}
            number += 1
        cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, Any], label: str) -> list[dict[str, Any]]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*non-interactive")  # plt.show() has nowhere to show it
        exec(compile(ast.parse(source), label, "exec"), names)
    lines = [line.rstrip() + "\n" for line in printed.getvalue().splitlines()]
    text = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
    return [*text, *_figures()]


def _figures() -> list[dict[str, Any]]:
    """All open figures as PNG; they are closed."""
    import matplotlib.pyplot as plt

    found: list[dict[str, Any]] = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, format="png", dpi=DPI, metadata={"Software": None})
        data = {"image/png": base64.b64encode(file.getvalue()).decode(), "text/plain": ["<Figure>"]}
        found.append({"data": data, "metadata": {}, "output_type": "display_data"})
    plt.close("all")
    return found


def main() -> None:
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                outputs = run(notebook, path.stem)
            finally:
                os.chdir(before)
        text = json.dumps(stored(notebook, outputs), indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
