"""How OpenMP's threads wait for each other: asleep, instead of in a loop that holds a core. Where other
programs run, two threads that spin for each other make a step many times slower (lab/LOG.md)."""

from __future__ import annotations

import sys
from collections.abc import MutableMapping

WAIT_POLICY = "OMP_WAIT_POLICY"
DECIDING = (WAIT_POLICY, "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""Variables by which a user decides: OpenMP's own, and those of the runtimes of GNU (in torch's wheels) and
Intel."""


def wait_passively_(environment: MutableMapping[str, str]) -> bool:
    """Set the policy, for this process and those that it starts. Returns whether it was set.

    The runtime reads it once, when torch is imported; so this module imports nothing, and does nothing if
    torch is there or the user has decided."""
    if "torch" in sys.modules or any(name in environment for name in DECIDING):
        return False
    environment[WAIT_POLICY] = "PASSIVE"
    return True
