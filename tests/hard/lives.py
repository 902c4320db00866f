"""The command in processes that are killed: at the n-th system call that changes a file, or after some time.
A server with the killer preloaded imports torch once and forks each of them; tests talk to it through its
standard streams. What each process has opened for writing, made, renamed or removed is noted."""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SOURCE = Path(__file__).with_name("killer.c")


@dataclass(frozen=True)
class End:
    """How a process ended."""

    code: int
    """Exit code, negative for a signal."""
    num_calls: int
    """System calls that changed a file; 0 for a process that was killed."""
    cpu_seconds: float
    changed: tuple[str, ...]
    """Real paths of what was opened for writing, made, renamed or removed."""

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL

    def outside(self, *folders: Path) -> list[str]:
        """What was changed outside of these folders."""
        inside = tuple(folder.resolve() for folder in folders)
        found = [Path(path) for path in self.changed if path.partition("/")[2].partition("/")[0] != "dev"]
        # Only the parent is resolved: renaming or removing a link does not follow it.
        real = {path: path.parent.resolve() / path.name for path in found}
        return [str(path) for path in found if not any(real[path].is_relative_to(one) for one in inside)]


class Server:
    """Runs `somelab` commands one after another, each in a process of its own."""

    def __init__(self, folder: Path) -> None:
        library, self.notes = folder / "killer.so", folder / "notes"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-w", str(SOURCE), "-o", str(library), "-ldl"], check=True
        )
        preloaded = {"LD_PRELOAD": str(library), "OMP_NUM_THREADS": "1", "SOMELAB_NATIVE": "0"}
        preloaded["PYTHONDONTWRITEBYTECODE"] = "1"  # what an import leaves is Python's own
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.hard.lives", str(library)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **preloaded},
        )

    def run(
        self,
        argv: Sequence[str],
        log: Path,
        kill_at: int = 0,
        environment: Mapping[str, str] | None = None,
        kill_after: float = 0.0,
    ) -> End:
        """`kill_at`: the number of the call at which it is killed; `kill_after`: seconds; 0: never."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        task = {
            "argv": list(argv),
            "log": str(log),
            "notes": str(self.notes),
            "kill_at": kill_at,
            "kill_after": kill_after,
            "environment": environment or {},
        }
        print(json.dumps(task), file=self.process.stdin, flush=True)
        told = json.loads(self.process.stdout.readline())
        lines = self.notes.read_text(errors="surrogateescape").splitlines()
        return End(**told, changed=tuple(line.partition(" ")[2] for line in lines))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


def can_kill() -> bool:
    """Whether this machine can build and preload the killer."""
    return sys.platform == "linux" and shutil.which("cc") is not None


def serve(library: str, tasks: IO[str], answers: IO[str]) -> None:
    import torch._dynamo  # noqa: F401  (the optimizer would import it in every process)

    import somelab.cli.arguments
    import somelab.cli.main
    import somelab.training.session  # noqa: F401

    killer = ctypes.CDLL(library)
    for line in tasks:
        task = json.loads(line)
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            _live(task, killer, writing)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            # The pipe is readable when the process has told its number of calls, or has ended.
            if task["kill_after"] and not select.select([pipe], [], [], task["kill_after"])[0]:
                os.kill(child, signal.SIGKILL)
            told = pipe.read()
        _, status, used = os.wait4(child, 0)
        answer = {
            "code": os.waitstatus_to_exitcode(status),
            "num_calls": int(told or 0),
            "cpu_seconds": used.ru_utime + used.ru_stime,
        }
        print(json.dumps(answer), file=answers, flush=True)


def _live(task: dict[str, object], killer: ctypes.CDLL, pipe: int) -> None:
    """In the child: never returns."""
    from somelab.cli.main import main

    code = 70
    try:
        os.environ.update({str(name): str(value) for name, value in dict(task["environment"]).items()})  # type: ignore[call-overload]
        log = os.open(str(task["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for number in (1, 2):
            os.dup2(log, number)
        killer.note_to(
            os.open(str(task["notes"]), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        )
        killer.kill_at(ctypes.c_long(int(str(task["kill_at"]))))
        code = main([str(word) for word in list(task["argv"])])  # type: ignore[call-overload]
        sys.stdout.flush()
        num_calls = killer.num_calls()
        killer.kill_at(ctypes.c_long(0))
        os.write(pipe, str(num_calls).encode())
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1], sys.stdin, os.fdopen(os.dup(1), "w"))
