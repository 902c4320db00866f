"""Cached folders that are built once and then only read: complete or absent, also after a kill."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from somelab.disk import atomic, guarded
from somelab.errors import ConfigError

if sys.platform != "win32":
    import fcntl

VARIABLE = "SOMELAB_CACHE"


def cache_root(cache_dir: Path | None = None) -> Path:
    """Where prepared data are kept: the given folder, `$SOMELAB_CACHE`, or ~/.cache/somelab."""
    if cache_dir is not None:
        return cache_dir
    if given := os.environ.get(VARIABLE):
        expanded = os.path.expanduser(given)
        if expanded.startswith("~"):
            raise ConfigError(VARIABLE, given, "there is no such user", "set it to a folder")
        return Path(expanded)
    try:
        return Path.home() / ".cache" / "somelab"
    except RuntimeError:
        raise ConfigError(
            VARIABLE, None, "there is no home folder to keep prepared data in", f"set {VARIABLE} to a folder"
        ) from None


def build_once(root: Path, name: str, build: Callable[[Path], None]) -> Path:
    """The folder of that name, which `build` fills unless it is there. Of several processes one builds, the
    others wait."""
    folder = root / "prepared" / name
    if folder.is_dir():
        return folder
    with _explained(root):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder):
            if not folder.is_dir():
                atomic.write_folder_unless_there(folder, build)
    return folder


def build_again(
    root: Path, name: str, build: Callable[[Path], None], is_sound: Callable[[Path], bool]
) -> Path:
    """The folder of that name, filled anew unless `is_sound` finds that another process has done so. The
    damaged one stays until the new one is complete."""
    folder = root / "prepared" / name
    with _explained(root), _locked(folder):
        if not is_sound(folder):
            with atomic.filled_beside(folder, build) as temporary:
                shutil.rmtree(folder, ignore_errors=True)
                os.replace(temporary, folder)
    return folder


@contextmanager
def _explained(root: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            VARIABLE,
            str(root),
            f"prepared data cannot be written there ({error.strerror or error})",
            f"set {VARIABLE} to a folder that can be written and has space",
        ) from None


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """An exclusive lock among the processes that build this folder. The holder removes what a killed process
    left. Without locks (Windows) two processes may do the same work, with the same result."""
    if sys.platform == "win32":
        yield
        return
    with guarded.open_append(folder.with_name(f".{folder.name}.lock"), inside=folder.parent) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(OSError):  # leftovers do no harm
            atomic.clear_leftovers(folder.parent, folder.name)
        yield
