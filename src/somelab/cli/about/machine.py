"""Facts about this machine: versions, processor, memory, disk, accelerators, compilers, and how fast it
multiplies. `doctor` derives advice from them."""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
from importlib.metadata import PackageNotFoundError, distribution, metadata, requires
from pathlib import Path
from typing import Any

# The versions that are tested, as constraints.txt pins them (a wheel does not hold that file).
TESTED = {
    "torch": "2.13.0",
    "numpy": "2.4.6",
    "pydantic": "2.14.3",
    "pyyaml": "6.0.3",
    "rich": "15.0.0",
    "safetensors": "0.8.0",
    "tokenizers": "0.23.3",
    "tyro": "1.0.16",
}
FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16")
REQUIREMENT = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?\s*(?:>=\s*([0-9.]+))?")
VERSION = re.compile(r"^Version: *(\S+)", re.MULTILINE)
MATMUL = 256
"""Width of the matrices that are multiplied for a measure of speed."""
EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


def packages() -> list[dict[str, Any]]:
    """Each required package: the version that is here (None: missing), the least that is needed, the one that
    is tested."""
    found = []
    for line in requires("somelab") or []:
        if not EXTRA.search(line):
            name, least = _requirement(line)
            here = installed(name)
            enough = here is not None and (least is None or _numbers(here) >= _numbers(least))
            found.append(
                {
                    "name": name,
                    "installed": here,
                    "needs": least,
                    "tested": TESTED.get(name.lower()),
                    "enough": enough,
                }
            )
    return found


def extras() -> list[dict[str, Any]]:
    """Each optional extra: the packages it brings, those that are missing, and the command that installs
    them."""
    found = []
    needed = requires("somelab") or []
    for extra in metadata("somelab").get_all("Provides-Extra") or []:
        lines = [line for line in needed if (match := EXTRA.search(line)) and match[1] == extra]
        names = [_requirement(line)[0] for line in lines]
        missing = [name for name in names if installed(name) is None]
        found.append(
            {
                "name": extra,
                "packages": names,
                "missing": missing,
                "install": f"pip install 'somelab[{extra}]'",
            }
        )
    return found


def installed(name: str) -> str | None:
    """A package's version, None if it is missing."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None
    # `version` would parse all of the description, for each of dozens of packages.
    line = VERSION.search(found.read_text("METADATA") or "")
    return line[1] if line else found.version


def processor() -> dict[str, Any]:
    """Name, cores and the features that decide how matrices are multiplied (None: not reported by this
    system)."""
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    name = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    flags = re.search(r"^flags\s*:\s*(.+)$", text, re.MULTILINE)
    present = set(flags[1].split()) if flags else None
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "name": name[1].strip() if name else platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "usable_cores": usable,
        "features": None if present is None else {feature: feature in present for feature in FEATURES},
    }


def memory() -> dict[str, int | None]:
    """Bytes of main memory, in all and free for a new process; None if this system does not report it."""
    path = Path("/proc/meminfo")
    if path.exists():
        sizes = {
            key: int(value) * 1024
            for key, value in re.findall(r"^(\w+):\s+(\d+) kB", path.read_text(), re.MULTILINE)
        }
        return {"total": sizes.get("MemTotal"), "free": sizes.get("MemAvailable")}
    names = getattr(os, "sysconf_names", {})
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if "SC_PHYS_PAGES" in names else None
    return {"total": total, "free": None}


def disk() -> dict[str, int]:
    """Bytes of the disk that holds the working directory."""
    usage = shutil.disk_usage(Path.cwd())
    return {"total": usage.total, "free": usage.free}


def compilers() -> dict[str, str | None]:
    """The path of the compiler for compiled kernels and torch.compile; None: not found."""
    name = os.environ.get("CXX", "g++")
    return {name: shutil.which(name)}


def native() -> dict[str, Any]:
    """Whether compiled kernels compute the experts, and why (not). Builds them if they are missing. Imports
    torch."""
    from somelab.native import load

    return load()._asdict()


def accelerators() -> dict[str, Any]:
    """What somelab can train on beside the processor. Imports torch."""
    import torch

    cuda = (
        [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
        if torch.cuda.is_available()
        else []
    )
    return {"cuda": cuda}


def matmul_speed(size: int = MATMUL, repeats: int = 5, seconds: float = 0.06) -> dict[str, float]:
    """GFLOP/s of a square matrix product in fp32 and bf16, the best of a few within that time. Imports
    torch."""
    import torch

    speed = {}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        left, right = torch.randn(size, size).to(dtype), torch.randn(size, size).to(dtype)
        out = torch.empty_like(left)  # reused: a new buffer costs page faults
        took: list[float] = []
        # The first call builds the kernel. Where that is all there is time for, it has to do.
        while len(took) <= repeats and sum(took) < seconds:
            start = time.perf_counter()
            torch.mm(left, right, out=out)
            took.append(time.perf_counter() - start)
        speed[name] = 2 * size**3 / min(took) / 1e9
    return speed


def num_threads() -> int:
    """Threads that torch computes with. Imports torch."""
    import torch

    return torch.get_num_threads()


def _requirement(line: str) -> tuple[str, str | None]:
    match = REQUIREMENT.match(line)
    assert match is not None, line
    return match[1], match[2]


def _numbers(version_text: str) -> tuple[int, ...]:
    """The leading numbers of a version, for comparing: 2.13.0+cpu is (2, 13, 0)."""
    return tuple(int(part) for part in re.findall(r"\d+", re.split(r"[+a-z]", version_text, maxsplit=1)[0]))
