"""From kernels.cpp to a library in the cache: identified by source, compiler and processor, built by one
process while others wait.

Linked to the OpenMP runtime that torch has loaded, by its path: a second runtime would bring a second pool of
threads."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from somelab.disk.built_once import build_once, cache_root

SOURCE = Path(__file__).with_name("kernels.cpp")
LIBRARY = "kernels.so"
FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fPIC",
    "-Wno-psabi",
)
SECONDS = 120
RUNTIME = re.compile(r"lib(gomp|iomp5|omp)[-.\w]*\.so[.\d]*$")


class CannotBuild(Exception):
    """Why there is no library: one line."""


def library() -> Path:
    """The library, built if it is not there."""
    compiler, runtime = find_compiler(), find_runtime()
    try:
        return (
            build_once(
                cache_root() / "native",
                _key(compiler, runtime),
                lambda folder: _compile(compiler, runtime, folder),
            )
            / LIBRARY
        )
    except subprocess.TimeoutExpired:
        raise CannotBuild(f"{compiler} took more than {SECONDS} seconds") from None


def find_compiler() -> str:
    """$CXX, or the first C++ compiler on the path."""
    names = [given] if (given := os.environ.get("CXX")) else ["g++", "c++", "clang++"]
    for name in names:
        if path := shutil.which(name):
            return path
    raise CannotBuild(f"no C++ compiler found ({', '.join(names)})")


def find_runtime() -> Path:
    """The OpenMP runtime of this process. Of several, the one that came with torch."""
    import torch

    loaded = loaded_runtimes()
    home = Path(torch.__file__).parents[1]
    own = [
        path
        for path in loaded
        if path.is_relative_to(home / "torch") or path.is_relative_to(home / "torch.libs")
    ]
    candidates = own or loaded
    if len(candidates) != 1:
        found = ", ".join(map(str, candidates)) or "none"
        raise CannotBuild(f"cannot tell which OpenMP runtime torch computes with (found: {found})")
    return candidates[0]


def loaded_runtimes() -> list[Path]:
    """Every OpenMP runtime in this process, where the system lists them (Linux)."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    paths = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return sorted(Path(path) for path in paths if RUNTIME.search(path))


def _key(compiler: str, runtime: Path) -> str:
    """Everything that determines the compiled library."""
    version = _run([compiler, "--version"]).splitlines()[0]
    info = Path("/proc/cpuinfo")
    flags = (
        re.search(r"^(?:flags|Features)\s*:\s*(.+)$", info.read_text(errors="replace"), re.MULTILINE)
        if info.exists()
        else None
    )
    parts = (
        SOURCE.read_text(),
        " ".join(FLAGS),
        version,
        platform.machine(),
        flags[1] if flags else "",
        str(runtime),
    )
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


def _compile(compiler: str, runtime: Path, folder: Path) -> None:
    made = folder / "kernels.o"
    _run([compiler, *FLAGS, "-fopenmp", "-c", str(SOURCE), "-o", str(made)])
    # Without -fopenmp here, which would link the compiler's own runtime; `defs` makes a missing symbol an
    # error now.
    _run([compiler, "-shared", str(made), str(runtime), "-Wl,-z,defs", "-o", str(folder / LIBRARY)])
    made.unlink()


def _run(command: list[str]) -> str:
    # In English, independent of the user's language: the last line of an error is shown.
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        env={**os.environ, "LC_ALL": "C"},
    )
    if done.returncode:
        said = next(
            (line for line in done.stderr.splitlines() if "error" in line),
            done.stderr.strip() or "it said nothing",
        )
        raise CannotBuild(f"{command[0]} failed: {said.strip()[:200]}")
    return done.stdout
