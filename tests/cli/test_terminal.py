"""How wide output is: as the terminal, as COLUMNS says, or without limit; sentences keep their margin."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

from somelab.cli.main import main
from somelab.cli.terminal import PIPE_WIDTH, pipe_width, say


def test_without_a_terminal_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert pipe_width() == PIPE_WIDTH


@pytest.mark.parametrize(
    ("columns", "width"), [("60", 60), ("5", PIPE_WIDTH), ("", PIPE_WIDTH), ("x", PIPE_WIDTH)]
)
def test_columns_limits_a_pipe(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert pipe_width() == width


def test_a_pipe_is_as_wide_as_the_terminal_behind_it() -> None:
    leader, follower = pty.openpty()
    try:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 57, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        code = "from somelab.cli.terminal import pipe_width; print(pipe_width())"
        command = [sys.executable, "-c", code]
        made = subprocess.run(command, stdout=subprocess.PIPE, stderr=follower, env=environment, check=True)
    finally:
        os.close(leader)
        os.close(follower)
    assert int(made.stdout) == 57


def test_sentences_are_wrapped_between_words_and_keep_their_margin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    say("first line\n\n  a margin of two stays for all of it")
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "first line",
        "",
        "  a margin of two stays",
        "  for all of it",
    ]


def test_help_has_whole_paragraphs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["train", "--help"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"Training is not changed\.", re.sub(r"[\s|│]+", " ", shown))
    assert not re.search(r"Training is\s*[|│]?\n", shown), "tyro breaks after each line of a docstring"


def test_help_fits_a_terminal() -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": "70", "TERM": "xterm"}
    command = [sys.executable, "-m", "somelab", "play", "--help"]
    try:
        subprocess.run(command, stdout=follower, env=environment, check=True)
        shown = os.read(leader, 10_000).decode()
    finally:
        os.close(leader)
        os.close(follower)
    lines = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()]
    assert len(lines) > 10
    assert max(len(line) for line in lines) <= 70
    assert "Open the model that comes with somelab in the browser: continue a" in lines
