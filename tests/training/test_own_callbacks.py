"""A callback of one's own, from a file: it sees the steps, and a bad file is one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from somelab.cli.main import main
from tests.training.builders import SMALL, flags_of

WRITER = """
from pathlib import Path
import somelab

class Writer(somelab.Callback):
    def on_step(self, trainer, record):
        with (trainer.run.path / "mine.txt").open("a") as file:
            file.write(f"{record.step} {record.loss:.3f}\\n")
"""


def argv(text: Path, out: Path, file: Path) -> list[str]:
    return [
        "train",
        "demo",
        "--data",
        str(text),
        "--out",
        str(out),
        *flags_of(SMALL),
        "--callback",
        str(file),
    ]


@pytest.mark.parametrize("more", ["", "WRITER = Writer()\n"])
def test_a_callback_from_a_file_acts_once_a_step(text: Path, tmp_path: Path, more: str) -> None:
    file = tmp_path / "writer.py"
    file.write_text(WRITER + more)
    assert main(argv(text, tmp_path / "run", file)) == 0
    assert [int(line.split()[0]) for line in (tmp_path / "run" / "mine.txt").read_text().splitlines()] == [
        *range(1, 13)
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x = 1\n", "defines no callback; add a subclass of somelab.Callback"),
        (
            WRITER.replace("def on_step", "def __init__(self, name): pass\n    def on_step"),
            "cannot be made without arguments",
        ),
        ("import nothing_of_that_name\n", "cannot be executed (ModuleNotFoundError"),
    ],
)
def test_a_bad_file_is_one_line(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, words: str
) -> None:
    file = tmp_path / "bad.py"
    file.write_text(content)
    assert main(argv(text, tmp_path / "run", file)) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("somelab:")]
    assert words in line
    assert not (tmp_path / "run").exists()
