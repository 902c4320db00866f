"""From the C++ sources to a library in a private folder of the cache: identified by source, compiler,
processor and torch, built by one process while others wait, and read back only as it was written.

Linked to the OpenMP runtime that torch has loaded, by its path: a second runtime would bring a second pool of
threads."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from somelab.disk.built_once import VARIABLE, cache_root
from somelab.errors import ConfigError
from somelab.native.private_folder import NotPrivate, PrivateFolder

SOURCES = tuple(sorted(Path(__file__).parent.glob("*.cpp")))
HEADERS = tuple(sorted(Path(__file__).parent.glob("*.h")))
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


class Library(NamedTuple):
    """A library as it was read and checked. The file may change; the content may not."""

    path: Path
    content: bytes


def library() -> Library:
    """The library, built if it is not there, not what was built, or not private. Kept in `native-UID` of the
    cache; if others can write that, in the one of the home folder. NotPrivate: both are open to others."""
    compiler, runtime = find_compiler(), find_runtime()
    origin = _origin(compiler, runtime)
    refused: list[str] = []
    for root in _roots():
        try:
            with PrivateFolder.opened(root / f"native-{os.geteuid()}") as folder:
                return _kept_or_built(folder, compiler, runtime, origin)
        except NotPrivate as reason:
            refused.append(str(reason))
        except OSError as error:
            raise ConfigError(
                VARIABLE,
                str(root),
                f"compiled kernels cannot be written there ({error.strerror or error})",
                f"set {VARIABLE} to a folder that can be written and has space",
            ) from None
        except subprocess.TimeoutExpired:
            raise CannotBuild(f"{compiler} took more than {SECONDS} seconds") from None
    raise NotPrivate(f"{'; '.join(refused)}; remove it, or set {VARIABLE} to a folder of your own")


def _roots() -> list[Path]:
    """The cache, and the user's own where that is another one."""
    roots = [cache_root()]
    home = Path(os.path.expanduser("~"))
    if home.is_absolute() and home / ".cache" / "somelab" not in roots:
        roots.append(home / ".cache" / "somelab")
    return roots


def _kept_or_built(folder: PrivateFolder, compiler: str, runtime: Path, origin: dict[str, str]) -> Library:
    path = folder.path / f"{_digest(json.dumps(origin, sort_keys=True).encode())[:24]}.so"
    content = _kept(folder, path.name, origin)
    if content is None:
        with folder.locked():
            content = _kept(folder, path.name, origin)  # built by another process meanwhile
            if content is None:
                with folder.workspace() as workspace:
                    content = _compile(compiler, runtime, workspace)
                # The record last: without it, or with that of another library, the library is built again.
                folder.write(path.name, content)
                record = {"library": _digest(content), "origin": origin}
                folder.write(f"{path.stem}.json", json.dumps(record, indent=1).encode())
    return Library(path, content)


def _kept(folder: PrivateFolder, name: str, origin: dict[str, str]) -> bytes | None:
    """The library in the folder if it is ours and whole; None: build it (again)."""
    try:
        content = folder.read(name)
        record = json.loads(folder.read(f"{Path(name).stem}.json"))
    except (FileNotFoundError, ValueError, NotPrivate, RecursionError):
        return None
    except OSError:  # a link or a socket by that name
        return None
    return content if record == {"library": _digest(content), "origin": origin} else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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


def _origin(compiler: str, runtime: Path) -> dict[str, str]:
    """Everything that determines the compiled library, as its record keeps it."""
    from importlib.metadata import version as version_of

    version = _run([compiler, "--version"]).splitlines()[0]
    info = Path("/proc/cpuinfo")
    flags = (
        re.search(r"^(?:flags|Features)\s*:\s*(.+)$", info.read_text(errors="replace"), re.MULTILINE)
        if info.exists()
        else None
    )
    return {
        "source": _digest(b"".join(path.read_bytes() for path in (*SOURCES, *HEADERS))),
        "flags": " ".join(FLAGS),
        "compiler": f"{compiler}: {version}",
        "machine": platform.machine(),
        "processor": _digest((flags[1] if flags else "").encode()),
        "runtime": str(runtime),
        "torch": version_of("torch"),
    }


def _compile(compiler: str, runtime: Path, workspace: Path) -> bytes:
    """The compiled library. The processes work in `workspace` and name their files relative to it."""
    objects = [f"{source.stem}.o" for source in SOURCES]
    commands = [
        [compiler, *FLAGS, "-fopenmp", "-c", str(source), "-o", target]
        for source, target in zip(SOURCES, objects, strict=True)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # one compiler per core; the first error is raised
        list(pool.map(partial(_run, folder=workspace), commands))
    # Without -fopenmp here, which would link the compiler's own runtime; `defs` makes a missing symbol an
    # error now.
    _run([compiler, "-shared", *objects, str(runtime), "-Wl,-z,defs", "-o", LIBRARY], workspace)
    return (workspace / LIBRARY).read_bytes()


def _run(command: list[str], folder: Path | None = None) -> str:
    # In English, independent of the user's language: the last line of an error is shown.
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C"},
    )
    if done.returncode:
        said = next(
            (line for line in done.stderr.splitlines() if "error" in line),
            done.stderr.strip() or "it said nothing",
        )
        raise CannotBuild(f"{command[0]} failed: {said.strip()[:200]}")
    return done.stdout
