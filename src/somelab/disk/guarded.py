"""Opening files of a folder that someone else may have prepared: regular files only, of bounded size, never
through a link that leaves the folder, and never truncated by opening.

A FIFO or a device would block or never end; a link could lead to the user's own files."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from somelab.errors import SomelabError

LARGEST_TEXT = 16 << 20
"""Bytes of a text file that is read as a whole, unless the caller has another limit."""

_COMMON = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class GuardError(SomelabError):
    """A file that is not opened, because it is not what a folder of ours would hold."""


def open_read(path: Path, *, inside: Path | None = None) -> BinaryIO:
    """A regular file, for reading. OSErrors are left to the caller.

    `inside`: the folder that the file has to be in after all links are followed; None: links are followed
    freely."""
    real = resolved(path, inside=inside)
    # Without O_NONBLOCK, opening a FIFO waits for a writer.
    descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _COMMON)
    return _checked(path, descriptor, "rb")


def open_append(path: Path, *, inside: Path) -> BinaryIO:
    """A regular file below `inside`, for appending and cutting; made if it is missing. The file must be
    neither a symbolic nor a hard link: its content could belong to another file's owner.
    OSErrors are left to the caller."""
    real = resolved(path.parent, inside=inside) / path.name
    if real.is_symlink():
        raise GuardError(f"{path}: is a link, and nothing is written through links; remove it")
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | _COMMON
    file = _checked(path, os.open(real, flags, 0o666), "ab")
    if os.fstat(file.fileno()).st_nlink != 1:
        file.close()
        raise GuardError(f"{path}: has a second name (a hard link), and is not written; replace it by a copy")
    return file


def read_bytes(path: Path, *, limit: int = LARGEST_TEXT, inside: Path | None = None) -> bytes:
    """The content of a regular file of at most `limit` bytes."""
    with open_read(path, inside=inside) as file:
        content = file.read(limit + 1)
    # /proc/kmsg and its like pass for regular files, and may have nothing to read right now.
    if content is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise GuardError(f"{path}: is not a file that ends, and is not read")
    if len(content) > limit:
        raise GuardError(f"{path}: has more than {limit:,} bytes, and is not read")
    return content


def read_text(path: Path, *, limit: int = LARGEST_TEXT, inside: Path | None = None) -> str:
    """The same as UTF-8 text."""
    return read_bytes(path, limit=limit, inside=inside).decode("utf-8")


def resolved(path: Path, *, inside: Path | None) -> Path:
    """The path without links, checked to be below `inside`."""
    try:
        real = path.resolve()
    except RuntimeError:  # how Python before 3.13 reports links that lead in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
    if inside is not None and not real.is_relative_to(inside.resolve()):
        raise GuardError(f"{path}: leads out of {inside} through a link, and is not opened; remove the link")
    return real


def _checked(path: Path, descriptor: int, mode: str) -> BinaryIO:
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind):
        os.close(descriptor)
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(21, "Is a directory", str(path))
        raise GuardError(f"{path}: is not a regular file, and is not opened")
    return os.fdopen(descriptor, mode)  # pyright: ignore[reportReturnType]
