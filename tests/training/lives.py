"""The command in processes of its own, to be killed at will. Torch is imported once, in a server that forks
each of them.

A life may end by its own hand too: at the n-th time that it touches the disk in a way that matters, as a
power cut would."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

PATIENCE = 400.0
"""Seconds until a process that should have ended or written something counts as hung."""

_CONTEXT = multiprocessing.get_context("forkserver")
# The optimizer would import torch._dynamo at its first use, which takes as long as torch itself.
_CONTEXT.set_forkserver_preload(
    ["torch._dynamo", "somelab.cli.main", "somelab.cli.arguments", "somelab.training.session"]
)


class Life:
    """One process that runs `somelab` with some arguments."""

    def __init__(
        self,
        argv: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
        dies_in: tuple[str, int] | None = None,
        largest_file: int = resource.RLIM_INFINITY,
        traced: bool = False,
    ) -> None:
        """`traced`: write the digests of the final keys and the names of all files written beside the log."""
        self.log = log
        given = {"SOMELAB_CACHE": os.environ["SOMELAB_CACHE"], **(environment or {})}
        arguments = (list(argv), str(log), given, dies_in, largest_file, traced)
        self.process: ForkServerProcess = _CONTEXT.Process(target=_live, args=arguments)
        self.process.start()

    def end(self) -> int:
        """Wait for the end; the exit code, negative for a signal."""
        self.process.join(PATIENCE)
        code = self.process.exitcode
        if code is None:
            self.process.kill()
            raise AssertionError(f"hung: {self.said()}")
        return code

    def send(self, number: int) -> None:
        """Send a signal, unless the process has ended by itself."""
        assert self.process.pid is not None
        if self.process.is_alive():
            os.kill(self.process.pid, number)

    def said(self) -> str:
        """Everything on stdout and stderr."""
        return self.log.read_text()

    def wait_for_lines(self, journal: Path, number: int) -> None:
        """Until a journal has so many lines, or the process has ended."""
        deadline = time.monotonic() + PATIENCE
        while self.process.is_alive() and (
            not journal.exists() or journal.read_bytes().count(b"\n") < number
        ):
            assert time.monotonic() < deadline, f"hung: {self.said()}"
            time.sleep(0.005)


def _live(
    argv: list[str],
    log: str,
    environment: dict[str, str],
    dies_in: tuple[str, int] | None,
    largest_file: int,
    traced: bool,
) -> None:
    import torch

    from somelab.cli.main import main

    os.environ.update(environment)
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
    if dies_in is not None:
        _die_in(*dies_in)
    if traced:
        _trace(log)
    sys.exit(main(argv))


def _trace(log: str) -> None:
    from somelab.disk import atomic
    from somelab.runs import journal
    from somelab.training.loop import Outcome, Trainer

    Path(f"{log}.writes").touch()
    fit, explained = Trainer.fit, atomic.explained

    def traced_fit(self: Trainer) -> Outcome:
        outcome = fit(self)
        digests = [layer.keystore.digest() for layer in self.model.some_layers()]
        Path(f"{log}.digests").write_text("\n".join(digests))
        return outcome

    def noted(path: Path) -> Any:
        with Path(f"{log}.writes").open("a") as file:
            file.write(f"{path}\n")
        return explained(path)

    Trainer.fit = traced_fit
    atomic.explained = journal.explained = noted


WRITES = ("save_file", "fsync", "replace", "symlink", "rmtree")
"""What a run does to the disk: tensors of a checkpoint, a file brought to the disk, a name put in place, a
link, a removal."""


def _die_in(operation: str, number: int) -> None:
    """Kill this process in the n-th call of an operation: just before it, or half-way through a file of
    tensors."""
    from somelab.runs import checkpoint

    module: Any = {"save_file": checkpoint, "rmtree": shutil}.get(operation, os)
    act, calls = getattr(module, operation), 0

    def counting(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == number:
            if operation == "save_file":
                Path(arguments[1]).write_bytes(b"\x10\x00\x00\x00half a file")
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*arguments, **options)

    setattr(module, operation, counting)
