"""A folder that nobody but this user can write (owner, mode 0700), held open: what is in it, this user put
there. That is the check; the digest beside a library finds damage, and no attacker, who would write both.

All access goes through the descriptor of the opened folder: whoever can rename its parents (a shared cache)
can put another folder into its place, but that one has another owner. Access lists are not looked into.
Windows has no such checks: there, as wherever /proc is missing, no library is built or loaded."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Generator
from pathlib import Path

PRIVATE = 0o700
OTHERS = 0o077
OTHERS_WRITE = 0o022
BUILDING = ".building-"
LARGEST_FILE = 64 << 20


class NotPrivate(Exception):
    """Why a folder or a file in it is not trusted: one line."""


class PrivateFolder:
    """An open folder. Names are those of files directly in it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    @contextlib.contextmanager
    def opened(cls, path: Path) -> Generator[PrivateFolder]:
        """The folder, made if it is missing. NotPrivate: it is a link, or others own or reach it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, PRIVATE)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:  # a link, a file, or a folder that others have closed
            raise NotPrivate(f"{path} is not a folder of this user ({error.strerror})") from None
        try:
            found = os.fstat(descriptor)
            if found.st_uid != os.geteuid():
                raise NotPrivate(f"{path} belongs to user {found.st_uid}, not to {os.geteuid()}")
            # An open folder is not closed here: what others have put into it would stay.
            if found.st_mode & OTHERS:
                raise NotPrivate(f"{path} is open to others (mode {stat.S_IMODE(found.st_mode):o}, not 700)")
            yield cls(path, descriptor)
        finally:
            os.close(descriptor)

    def read(self, name: str) -> bytes:
        """The content of a regular file of this user that nobody else can write. What was read is what is
        used: a file that changes or shrinks afterwards does no harm."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, dir_fd=self._descriptor), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise NotPrivate(f"{self.path / name} is not a regular file")
            if found.st_uid != os.geteuid() or found.st_mode & OTHERS_WRITE:
                raise NotPrivate(f"{self.path / name} may have been written by others")
            return file.read(LARGEST_FILE)

    def write(self, name: str, content: bytes) -> None:
        """Replace a file as a whole."""
        temporary = f"{BUILDING}{os.getpid()}-{secrets.token_hex(4)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=self._descriptor), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.rename(temporary, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=self._descriptor)
            raise

    @contextlib.contextmanager
    def locked(self) -> Generator[None]:
        """An exclusive lock among the processes that build here. The holder removes what killed ones left."""
        if sys.platform == "win32":
            raise NotPrivate("Windows has no owners and modes that could be checked")
        import fcntl

        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(".lock", flags, 0o600, dir_fd=self._descriptor), "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for name in os.listdir(self._descriptor):
                if name.startswith(BUILDING):
                    self._remove(name)
            yield

    @contextlib.contextmanager
    def workspace(self) -> Generator[Path]:
        """A new folder in it for a compiler, as the path of a descriptor: `cwd` of a process, which opens its
        files relative to that."""
        name = f"{BUILDING}{os.getpid()}-{secrets.token_hex(4)}"
        os.mkdir(name, PRIVATE, dir_fd=self._descriptor)
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=self._descriptor)
        try:
            yield Path(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
            self._remove(name)

    def _remove(self, name: str) -> None:
        path = Path(f"/proc/self/fd/{self._descriptor}") / name
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
