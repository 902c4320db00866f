"""Draw all pictures of the documentation from the real rules:
`python docs/pictures/draw.py [folder] [name ...]`. The same code gives the same files; a test draws them
anew, so that no picture can fall behind the rules it shows."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent


def names() -> list[str]:
    """All pictures, by their file names without the suffix."""
    return sorted(path.stem.replace("_", "-") for path in (HERE / "scenes").glob("[a-z]*.py"))


def main(folder: Path, wanted: list[str]) -> None:
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted or names():
        scene = importlib.import_module(f"scenes.{name.replace('-', '_')}")
        scene.draw().write(folder / f"{name}.svg")
        print(folder / f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE, sys.argv[2:])
