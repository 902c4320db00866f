"""Two models that train at the same time, each in a process of its own with an equal share of the cores, so
that both have the same time. Their run folders are followed while they grow."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from somelab.errors import SomelabError
from somelab.experiments.runner.drive import processes_and_threads
from somelab.view.page.tail import Tail

JOURNALS = ("metrics", "samples", "timing")


@dataclass
class Learner:
    """One of the two: how it is called, where it trains, and what its journals say so far."""

    label: str
    folder: Path
    flags: Sequence[str]
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    loss: float | None = None
    evaluation: dict[str, Any] | None = None
    """The last one; of kind `final` when the model is trained."""
    text: str = ""
    """The last sample."""
    _tails: dict[str, Tail] = field(default_factory=dict[str, Tail])

    def look(self) -> bool:
        """Read on; whether there is a new evaluation."""
        if not self._tails:
            self._tails = {name: Tail(self.folder / f"{name}.jsonl") for name in JOURNALS}
        news = {name: tail.read()[0] for name, tail in self._tails.items()}
        is_new = False
        for record in news["metrics"]:
            if record.get("kind") == "train":
                self.step, self.tokens = record["step"], record["tokens"]
                self.loss = record["loss"] if self.loss is None else 0.9 * self.loss + 0.1 * record["loss"]
            elif record.get("kind") in ("evaluation", "final"):
                self.evaluation, is_new = record, True
        for record in news["timing"]:
            self.seconds = record["seconds"]
        for record in news["samples"]:
            self.text = record["text"]
        return is_new

    @property
    def is_trained(self) -> bool:
        return self.evaluation is not None and self.evaluation["kind"] == "final"


@dataclass(frozen=True)
class Pair:
    """The processes of both, in the order of the learners."""

    learners: tuple[Learner, Learner]
    processes: tuple[subprocess.Popen[bytes], ...]
    outputs: tuple[IO[bytes], ...]

    def is_running(self) -> bool:
        return any(process.poll() is None for process in self.processes)

    def wait(self) -> None:
        for process in self.processes:
            process.wait()

    def check(self) -> None:
        """Raise for one that has failed; its last line says why."""
        for learner, process, output in zip(self.learners, self.processes, self.outputs, strict=True):
            if process.returncode not in (0, 130):
                output.seek(0)
                lines = output.read().decode(errors="replace").strip().splitlines()
                reason = lines[-1].removeprefix("somelab: ") if lines else f"code {process.returncode}"
                raise SomelabError(f"training {learner.folder} failed: {reason}")


@contextlib.contextmanager
def training(learners: tuple[Learner, Learner]) -> Generator[Pair]:
    """Both in training. Whatever ends this early also ends them, saved."""
    num_processes, num_threads = processes_and_threads(len(learners))
    assert num_processes == len(learners)
    # Threads that spin while they wait take the core that the other model needs.
    environment = {**os.environ, "OMP_NUM_THREADS": str(num_threads), "OMP_WAIT_POLICY": "PASSIVE"}
    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(tempfile.TemporaryFile()) for _ in learners]
        processes = [
            stack.enter_context(_ended(_started(learner, output, environment)))
            for learner, output in zip(learners, outputs, strict=True)
        ]
        yield Pair(learners, tuple(processes), tuple(outputs))


def _started(learner: Learner, output: IO[bytes], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "somelab", "train", *learner.flags, "--out", str(learner.folder)]
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=output
    )


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Generator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()  # training saves and stops
            process.wait()
