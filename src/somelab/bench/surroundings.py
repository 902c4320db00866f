"""The other load of the machine during a benchmark."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

BUSY_OTHERS = 0.15
"""Cores that other processes may use, on average, before a run is called disturbed."""
STAT = Path("/proc/stat")
# user, nice, system, irq, softirq and steal of the first line: everything but idling and waiting for disks.
BUSY_COLUMNS = (1, 2, 3, 6, 7, 8)


class Watch:
    """Records the load before and after, and the CPU use of other processes in between."""

    def __init__(self) -> None:
        self.load_before = _load()
        self._start = time.monotonic(), _busy_seconds(), _own_seconds()

    def stop(self) -> dict[str, Any]:
        """Load averages, and the cores that others used on average (None if not available)."""
        seconds = max(1e-9, time.monotonic() - self._start[0])
        busy, before = _busy_seconds(), self._start[1]
        others = (
            None
            if busy is None or before is None
            else max(0.0, busy - before - (_own_seconds() - self._start[2])) / seconds
        )
        found: dict[str, Any] = {
            "before": self.load_before,
            "after": _load(),
            "other_cores": others,
            "seconds": seconds,
        }
        found["warning"] = warning(found, os.cpu_count() or 1)
        return found


def warning(load: dict[str, Any], num_cores: int) -> str | None:
    """A warning if the machine was not idle. Ratios stay valid, since contenders are interleaved; seconds do
    not."""
    others = load["other_cores"]
    if others is not None:
        if others > BUSY_OTHERS:
            return (
                f"other processes used {others:.2f} of {num_cores} cores while this ran: times are too "
                "long, and noisy"
            )
    elif load["before"] is not None and load["before"][0] > num_cores / 4:
        return (
            f"the load was {load['before'][0]:.2f} on {num_cores} cores before this ran: times may be "
            "too long, and noisy"
        )
    return None


def _load() -> tuple[float, float, float] | None:
    return os.getloadavg() if hasattr(os, "getloadavg") else None


def _busy_seconds() -> float | None:
    """Core seconds used by the whole machine since boot."""
    if not STAT.exists():
        return None
    columns = STAT.read_text().splitlines()[0].split()
    return sum(int(columns[place]) for place in BUSY_COLUMNS) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Core seconds of this process and of the children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
