"""Atomic writes, safe against a kill and a full disk: to a temporary name, flushed to the disk, then
renamed."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
import shutil
from collections.abc import Callable, Generator
from pathlib import Path

from somelab.errors import SomelabError

TEMPORARY = ".writing-"


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file as a whole: readers see the old content or the new, never a part."""
    temporary = _beside(path)
    with explained(path):
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_folder(path: Path, fill: Callable[[Path], None]) -> None:
    """Make a folder that appears only when `fill` has written all of it. An existing folder of that name is
    replaced."""
    with explained(path), filled_beside(path, fill) as temporary:
        shutil.rmtree(path, ignore_errors=True)
        os.replace(temporary, path)


def write_folder_unless_there(path: Path, fill: Callable[[Path], None]) -> None:
    """The same, but a folder of that name that another process has made meanwhile is kept. OSErrors are left
    to the caller."""
    with filled_beside(path, fill) as temporary:
        try:
            os.replace(temporary, path)
        except OSError:
            if not path.is_dir():
                raise


@contextlib.contextmanager
def filled_beside(path: Path, fill: Callable[[Path], None]) -> Generator[Path]:
    """A filled and flushed folder beside `path`, to be renamed by the caller."""
    temporary = _beside(path)
    try:
        temporary.mkdir(parents=True)
        fill(temporary)
        for file in temporary.iterdir():
            sync_file(file)
        sync_folder(temporary)
        yield temporary
        sync_folder(path.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def point(link: Path, target: str) -> None:
    """Point a symbolic link at another sibling, atomically."""
    temporary = _beside(link)
    with explained(link):
        try:
            temporary.symlink_to(target)
            os.replace(temporary, link)
            sync_folder(link.parent)
        finally:
            temporary.unlink(missing_ok=True)


def clear_leftovers(folder: Path, name: str | None = None) -> None:
    """Remove what killed writers left behind, of one name or of all."""
    for leftover in folder.glob(f"{TEMPORARY}{'*' if name is None else f'{glob.escape(name)}~*'}"):
        shutil.rmtree(leftover) if leftover.is_dir() and not leftover.is_symlink() else leftover.unlink(
            missing_ok=True
        )


def _beside(path: Path) -> Path:
    """A temporary name that is unique, also among machines that write the same path."""
    return path.with_name(f"{TEMPORARY}{path.name}~{os.getpid()}-{secrets.token_hex(4)}")


def sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make a rename survive a power cut, where the file system supports it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def explained(path: Path) -> Generator[None]:
    """Turn an OSError into one line with a remedy."""
    try:
        yield
    except OSError as error:
        raise WriteError(path, error) from error


class WriteError(SomelabError):
    """A write failed. The previous content is intact."""

    def __init__(self, path: Path, error: OSError) -> None:
        remedy = "choose another folder with --out"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            remedy = "free some space; what was written before is intact"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            remedy = "allow writing there, or choose another folder with --out"
        super().__init__(f"cannot write {path}: {error.strerror or error}; {remedy}")
