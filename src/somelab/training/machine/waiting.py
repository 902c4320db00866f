"""How OpenMP's threads wait for each other: a few microseconds in a loop, then asleep, instead of in a loop
that holds a core for milliseconds. Where other programs run, two threads that spin for each other make a step
many times slower; on a quiet machine, threads that sleep at once make small steps slower (lab/LOG.md):

    a step, two threads, quiet cores, time / the runtime's default     `some`   `some` at micro scale
    asleep at once (OMP_WAIT_POLICY=PASSIVE)                             1.08     1.88
    1,000 rounds first                                                            1.24
    10,000 rounds first                                                           1.10

On cores with a load of 9 to 13, a step of `demo` with 10,000 rounds takes twelve times as long as with none;
with a load of 4 and 1,000 rounds, 0.88 times as long, and one of `some` at micro scale 1.03. Hence 1,000."""

from __future__ import annotations

import sys
from collections.abc import MutableMapping

WAIT_POLICY, ROUNDS = "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"
SHORT_WAIT = {WAIT_POLICY: "PASSIVE", ROUNDS: "1000"}
"""GNU's runtime, which is in torch's wheels, takes the number of rounds; others take the policy."""
DECIDING = (WAIT_POLICY, ROUNDS, "KMP_BLOCKTIME")
"""Variables by which a user decides: OpenMP's own, and those of the runtimes of GNU and Intel."""


def wait_shortly_(environment: MutableMapping[str, str]) -> bool:
    """Set the policy, for this process and those that it starts. Returns whether it was set.

    The runtime reads it once, when torch is imported; so this module imports nothing, and does nothing if
    torch is there or the user has decided."""
    if "torch" in sys.modules or any(name in environment for name in DECIDING):
        return False
    environment.update(SHORT_WAIT)
    return True
