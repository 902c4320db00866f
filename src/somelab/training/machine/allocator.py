"""Keep freed memory in the process: by default glibc returns large buffers to the system at once, and every
step pays a page fault for each 4 kB again. Set at run time by the program itself."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping

# Numbers of the settings in malloc.h.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
# Larger blocks, such as whole pools of experts, are made once and may be returned to the system when freed.
LARGEST_KEPT = 1 << 30
# Free memory at the end of the heap that is kept: the largest number that mallopt takes.
MOST_FREE = 2**31 - 1


def keep_freed_memory() -> bool:
    """Let malloc serve blocks up to 1 GB from its heap, and keep what is freed. Returns whether it was done.

    Only with glibc, and not if the allocator is configured from outside."""
    if not _is_glibc() or is_decided(os.environ):
        return False
    libc = ctypes.CDLL(None)
    return all(
        libc.mallopt(name, value) == 1
        for name, value in ((MMAP_THRESHOLD, LARGEST_KEPT), (TRIM_THRESHOLD, MOST_FREE))
    )


def is_decided(environment: Mapping[str, str]) -> bool:
    """Whether malloc is configured from outside: by its own variables, or by another allocator (jemalloc,
    tcmalloc, mimalloc)."""
    return (
        any(name.startswith("MALLOC_") for name in environment)
        or "glibc.malloc" in environment.get("GLIBC_TUNABLES", "")
        or "malloc" in environment.get("LD_PRELOAD", "").lower()
    )


def _is_glibc() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").startswith("glibc")
    except ValueError:  # not supported by musl
        return False
