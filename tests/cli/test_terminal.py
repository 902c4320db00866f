"""How wide output is: as the terminal, as COLUMNS says, or without limit; sentences keep their margin."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

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
