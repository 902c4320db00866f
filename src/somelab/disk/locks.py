"""Locks among processes on files beside the work: they end with their process, however it ends. Without locks
(Windows) nothing is ever held."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator
from pathlib import Path

from somelab.disk import guarded
from somelab.errors import SomelabError

if sys.platform != "win32":
    import fcntl

TRIES, SECONDS_BETWEEN_TRIES = 6, 0.02
"""Who looks whether a lock is held takes it for a moment; that must not pass for a holder."""


class Held(SomelabError):
    """A lock that another process holds."""


@contextlib.contextmanager
def exclusive(path: Path, *, inside: Path) -> Generator[None]:
    """Hold the lock. Raises Held if another process does; OSErrors are left to the caller."""
    if sys.platform == "win32":
        yield
        return
    with guarded.open_append(path, inside=inside) as file:
        for number in range(1, TRIES + 1):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if number == TRIES:
                    raise Held(f"{path}: another process holds this lock; wait for it") from None
                time.sleep(SECONDS_BETWEEN_TRIES)
        yield


def is_held(path: Path, *, inside: Path) -> bool:
    """Whether some process holds the lock. Nothing is written; a file that cannot be opened is no lock."""
    if sys.platform == "win32":
        return False
    try:
        with guarded.open_read(path, inside=inside) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (OSError, guarded.GuardError):
        return False
    return False
