"""Folders that are built once and then only read: complete or absent, never half there, whoever is killed meanwhile.
A folder is written beside its place under another name, forced to disk, and moved in one step."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from somelab.errors import ConfigError

if sys.platform != "win32":
    import fcntl

VARIABLE = "SOMELAB_CACHE"


def cache_root(cache_dir: Path | None = None) -> Path:
    """Where prepared data are kept: the given folder, `$SOMELAB_CACHE`, or ~/.cache/somelab."""
    if cache_dir is not None:
        return cache_dir
    if given := os.environ.get(VARIABLE):
        return Path(os.path.expanduser(given))
    try:
        return Path.home() / ".cache" / "somelab"
    except RuntimeError:
        raise ConfigError(
            VARIABLE, None, "there is no home folder to keep prepared data in", f"set {VARIABLE} to a folder"
        ) from None


def build_once(root: Path, name: str, build: Callable[[Path], None]) -> Path:
    """The folder of that name, which `build` fills unless it is there. Of several processes one builds, the others wait."""
    folder = root / "prepared" / name
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_name(f".{folder.name}.lock")):
            if not folder.is_dir():
                _build(folder, build)
    except OSError as error:
        raise ConfigError(
            VARIABLE,
            str(root),
            f"prepared data cannot be written there ({error.strerror or error})",
            f"set {VARIABLE} to a folder that can be written and has space",
        ) from None
    return folder


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    partial = folder.with_name(f".{folder.name}.partial-{os.getpid()}-{secrets.token_hex(4)}")
    partial.mkdir()
    try:
        build(partial)
        for path in (*partial.iterdir(), partial):
            _force_to_disk(path)
        try:
            partial.rename(folder)
        except OSError:  # on a file system without locks another process may have been first; its folder is as good
            if not folder.is_dir():
                raise
        _force_to_disk(folder.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Alone among the processes that lock this path. The lock of a killed process is gone, but what it left is not:
    whoever holds the lock removes that. Without locks (Windows) two processes do the same work, to the same end."""
    if sys.platform == "win32":
        yield
        return
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for left_over in path.parent.glob(f"{path.stem}.partial-*"):
            shutil.rmtree(left_over, ignore_errors=True)
        yield


def _force_to_disk(path: Path) -> None:
    if sys.platform == "win32" and path.is_dir():  # Windows opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
