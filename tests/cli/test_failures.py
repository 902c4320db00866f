"""Limits of the machine, closed outputs and odd paths: one line or nothing, never a traceback."""

from __future__ import annotations

import errno
import functools
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from somelab.cli.failures import OUT_OF_MEMORY, TOO_MANY_FILES, TOO_MANY_THREADS, one_line, was_interrupted
from somelab.cli.main import main
from somelab.errors import SomelabError

COMMAND = [sys.executable, "-m", "somelab"]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), OUT_OF_MEMORY),
        (
            RuntimeError("[enforce fail at alloc_cpu.cpp:127] . DefaultCPUAllocator: can't allocate memory"),
            OUT_OF_MEMORY,
        ),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), OUT_OF_MEMORY),
        (ImportError("libtorch.so: failed to map segment from shared object"), OUT_OF_MEMORY),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), OUT_OF_MEMORY),
        (OSError(errno.EMFILE, "Too many open files", "x"), TOO_MANY_FILES),
        (ImportError("x.so: cannot open shared object file: Too many open files"), TOO_MANY_FILES),
        (RuntimeError("can't start new thread"), TOO_MANY_THREADS),
        (
            PermissionError(errno.EACCES, "Permission denied", "a/b"),
            "a/b: cannot be used (Permission denied); check the path and its permissions",
        ),
        (SomelabError("two\nlines"), "two lines"),
        (RuntimeError("a fault of ours"), None),
        (ValueError("a fault of ours"), None),
        (OSError("without a number"), None),
    ],
)
def test_failures_in_one_line(error: Exception, line: str | None) -> None:
    assert one_line(error) == line


def test_the_cause_of_an_error_counts() -> None:
    outer = RuntimeError("something else")
    outer.__cause__ = OSError(errno.EMFILE, "Too many open files")
    assert one_line(outer) == TOO_MANY_FILES
    outer.__cause__ = KeyboardInterrupt()
    assert was_interrupted(outer)
    assert not was_interrupted(RuntimeError("something else"))


def test_a_long_line_keeps_its_beginning_and_its_remedy() -> None:
    line = one_line(SomelabError(f"data.source = {'x' * 100_000}: is no source; give another"))
    assert line is not None
    assert line.startswith("data.source = xxx")
    assert line.endswith("is no source; give another")
    assert len(line) < 1000


def limited(limit: int, value: int, *argv: str) -> subprocess.CompletedProcess[str]:
    """The command with a resource limit of its own."""
    return subprocess.run(
        [*COMMAND, *argv],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(limit, (value, value)),
    )


def test_without_memory() -> None:
    done = limited(resource.RLIMIT_AS, 300 << 20, "params", "a1", "--scale", "mini")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"somelab: {OUT_OF_MEMORY}\n"


def test_without_file_descriptors(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n<|endoftext|>\ntwo\n" * 20)
    done = limited(resource.RLIMIT_NOFILE, 5, "prepare", "--data", str(tmp_path / "a.txt"))
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("somelab: ")
    assert "oo many open files" in last
    assert "damaged" not in last
    assert done.stderr.count("somelab: ") == 1


@pytest.mark.parametrize("output", [">&-", "| true", ">/dev/full"])
def test_output_that_nobody_reads(output: str) -> None:
    script = f"{sys.executable} -m somelab presets {output}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    assert done.stderr.count("\n") == (1 if "full" in output else 0)


INTERRUPTED = """
import builtins, os, signal, sys
from somelab.cli.main import main

imported = builtins.__import__
def interrupted(name, *rest, **more):
    if name == "torch":
        os.kill(os.getpid(), signal.SIGINT)
    return imported(name, *rest, **more)

builtins.__import__ = interrupted
sys.exit(main(["params", "a1", "--scale", "mini"]))  # not on record: counted by torch
"""


def test_an_interrupt_while_modules_are_imported() -> None:
    default = functools.partial(
        signal.signal, signal.SIGINT, signal.SIG_DFL
    )  # not ignored, as in a shell job
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120, preexec_fn=default
    )
    assert done.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in done.stderr


VERBS_WITH_A_RUN = ("resume", "eval", "generate", "report", "serve")


@pytest.mark.parametrize("verb", [*VERBS_WITH_A_RUN, "adapt"])
@pytest.mark.parametrize(
    "path", ["x" * 300, "x/" * 3000, "\udcff", "a\0b", "~nouser", "a-file", "a-file/x", "fifo"]
)
def test_odd_paths_of_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a-file").write_text("x")
    os.mkfifo(tmp_path / "fifo")
    assert main([verb, path, *(["--data", "builtin"] if verb == "adapt" else [])]) == 2
    said = capsys.readouterr().err
    assert said.startswith("somelab: ")
    assert said.count("\n") == 1
    assert len(said) < 3000


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_paths_without_permission(tmp_path: Path) -> None:
    """As a user who may not look: a folder, a file in it, and a file of data."""
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "a.txt").write_text("x")
    (closed / "run").mkdir()
    lines = [
        ["show", "--config", str(closed / "a.yaml")],
        ["prepare", "--data", str(closed / "a.txt")],
        ["eval", str(closed / "run")],
        ["sweep", str(closed / "plan.yaml")],
    ]
    code = (
        "import json, os, sys\n"
        "from somelab.cli.main import main\n"
        "lines = json.loads(sys.argv[1])\n"
        # All modules are imported before: Python's own folder may be closed to that user, too.
        "for argv in lines:\n"
        "    main([word.replace('closed', 'nowhere') for word in argv])\n"
        "print('now', file=sys.stderr)\n"
        "os.setuid(65534)\n"
        "print([main(argv) for argv in lines])\n"
    )
    closed.chmod(0)
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(lines)], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "[2, 2, 2, 2]\n", done.stderr
    said = done.stderr.partition("now\n")[2].splitlines()
    assert len(said) == len(lines)
    assert all(line.startswith("somelab: ") for line in said)
