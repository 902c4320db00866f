"""What the screenshots are of: small runs and sweeps, each made by a command where it is missing.

All of them are short: they show the page, and decide nothing about models. A command that was interrupted
continues when it is given again."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parents[1]
SOMELAB = (sys.executable, "-m", "somelab")

# The plan of docs/guides/sweep.md is its own source.
PLAN = re.compile(r"^```yaml\n(name: rates\n.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def somelab(*words: str | Path) -> None:
    """One command of somelab; what it prints goes to the terminal."""
    subprocess.run([*SOMELAB, *map(str, words)], check=True)


def make_sweep(folder: Path) -> None:
    """Series a, of which figures are published, with 60 steps a run."""
    somelab(
        "sweep", "series-a", "--data", "builtin", "--scale", "micro", "--seeds", "3", "--workers", "1",
        "--train.steps", "60", "--train.epochs", "null", "--train.eval-every", "10", "--train.batch-size",
        "4", "--model.seq-len", "64", "--model.vocab-size", "512", "--data.train-subset-size", "200",
        "--data.val-subset-size", "12", "--out", folder,
    )  # fmt: skip


def make_rates(folder: Path) -> None:
    """The tuned sweep of the guide, by the plan that stands there."""
    found = PLAN.search((DOCS / "guides" / "sweep.md").read_text(encoding="utf-8"))
    assert found is not None
    folder.parent.mkdir(parents=True, exist_ok=True)
    plan = folder.parent / "rates.yaml"
    plan.write_text(found[1], encoding="utf-8")
    somelab(
        "sweep", plan, "--data", "builtin", "--tune", "train.learning_rate", "--workers", "1", "--out", folder
    )


def make_fused(folder: Path) -> None:
    """The published settings of a1 on 32 keys, with which keys fuse."""
    if (folder / "run.json").is_file():
        somelab("resume", folder)
        return
    somelab(
        "train", "a1", "--scale", "micro", "--data", "builtin", "--train.steps", "300", "--train.epochs",
        "null", "--train.batch-size", "8", "--model.seq-len", "64", "--model.vocab-size", "512",
        "--experts.top-k", "4", "--data.val-subset-size", "50", "--out", folder,
    )  # fmt: skip


def draw_tutorial(picture: Path) -> None:
    """The figure of the tutorial, drawn by the tutorial's own code."""
    import tempfile

    blocks: list[str] = BLOCK.findall((DOCS / "tutorial.md").read_text(encoding="utf-8"))
    last = next(i for i, block in enumerate(blocks) if "savefig" in block)
    with tempfile.TemporaryDirectory() as folder:
        code = "\n".join(blocks[: last + 1])
        subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
        picture.write_bytes((Path(folder) / "first.png").read_bytes())


MAKERS: dict[str, Callable[[Path], None]] = {"sweep": make_sweep, "rates": make_rates, "fused": make_fused}
DONE = {"sweep": "table.json", "rates": "table.json", "fused": "checkpoints/step-00000300"}


def folder_of(name: str, work: Path) -> Path:
    """The folder of a source, made if it is not there or not complete."""
    folder = work / name
    if not (folder / DONE[name]).exists():
        MAKERS[name](folder)
    return folder
