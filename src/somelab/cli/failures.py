"""Which failures are one line and exit code 2: a user's mistakes, files, and limits of the machine (memory,
open files, threads). Everything else is somelab's own fault and keeps its traceback."""

from __future__ import annotations

import errno
import re
import sys

from somelab.errors import SomelabError

OUT_OF_MEMORY = (
    "out of memory; make the model, the batch or the data smaller (--scale, --train.micro-batch-size), or "
    "raise the limit (ulimit -v)"
)
TOO_MANY_FILES = "too many open files; close some, or raise the limit (ulimit -n)"
TOO_MANY_THREADS = (
    "cannot start another thread; set OMP_NUM_THREADS to fewer, or raise the limits (ulimit -u, ulimit -v)"
)
# What torch's allocators, the C++ library and the dynamic loader write when there is no memory.
NO_MEMORY = re.compile(
    r"DefaultCPUAllocator|out of memory|not enough memory|bad_alloc|MemoryError"
    r"|(?:can'?t|cannot|failed to) (?:allocate|map)",
    re.IGNORECASE,
)
ONEDNN = "could not create a primitive"  # all that oneDNN says, of missing memory too
NO_FILES = re.compile(r"Too many open files", re.IGNORECASE)
NO_THREADS = re.compile(r"can't start new thread|Resource temporarily unavailable", re.IGNORECASE)
LONGEST_PATH = 120
LONGEST_LINE = 2000


def one_line(error: BaseException) -> str | None:
    """The failure in one line; None: a fault of somelab."""
    if isinstance(error, SomelabError):
        return _cut(" ".join(str(error).split()))
    for known in _chain(error):
        if (line := _limit(known)) is not None:
            return line
    return _of_file(error) if isinstance(error, OSError) else None


def _cut(line: str) -> str:
    """Without the middle of a value that is pages long; the remedy is at the end."""
    return line if len(line) <= LONGEST_LINE else f"{line[:600]} ... {line[-300:]}"


def was_interrupted(error: BaseException) -> bool:
    """Whether Ctrl-C is behind it: an extension module that is interrupted while it is imported may raise
    something else."""
    return any(isinstance(known, KeyboardInterrupt) for known in _chain(error)) or "KeyboardInterrupt" in (
        str(error) if isinstance(error, (ImportError, SystemError)) else ""
    )


def _chain(error: BaseException) -> list[BaseException]:
    """The error and those that it was raised from or beside."""
    chain: list[BaseException] = []
    known: BaseException | None = error
    while known is not None and known not in chain:
        chain.append(known)
        known = known.__cause__ or known.__context__
    return chain


def _limit(error: BaseException) -> str | None:
    """Memory, open files or threads that the machine or `ulimit` does not give."""
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY
    if isinstance(error, OSError):
        known = {errno.ENOMEM: OUT_OF_MEMORY, errno.EMFILE: TOO_MANY_FILES, errno.ENFILE: TOO_MANY_FILES}
        if error.errno in known:
            return known[error.errno]
    # torch raises RuntimeError, the loader of shared libraries ImportError or a bare OSError.
    if isinstance(error, (RuntimeError, ImportError)) or (isinstance(error, OSError) and error.errno is None):
        text = str(error)
        for pattern, line in (
            (NO_FILES, TOO_MANY_FILES),
            (NO_THREADS, TOO_MANY_THREADS),
            (NO_MEMORY, OUT_OF_MEMORY),
        ):
            if pattern.search(text):
                return line
        if ONEDNN in text and _memory_is_limited():
            return OUT_OF_MEMORY
    return None


def _memory_is_limited() -> bool:
    """Whether `ulimit -v` is set. Windows has no such limit."""
    if sys.platform == "win32":
        return False
    import resource

    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _of_file(error: OSError) -> str | None:
    """A path that cannot be used, a disk that is full. Without a reason of the system it is our own fault."""
    if error.errno is None:
        return None
    reason = error.strerror or errno.errorcode.get(error.errno, str(error.errno))
    if error.filename is None:
        return f"a file cannot be read or written ({reason}); check the paths and the space on the disk"
    path = error.filename if isinstance(error.filename, str) else str(error.filename)
    shown = ascii(path)[1:-1] if not path.isprintable() else path
    shown = shown if len(shown) <= LONGEST_PATH else shown[:LONGEST_PATH] + "..."
    return f"{shown}: cannot be used ({reason}); check the path and its permissions"
