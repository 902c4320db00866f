"""How far keys move: per frame and in total. From snapshots, so movement between them is not seen.

Shape letters: F frames, E experts, D model width."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from somelab.analysis.snapshots import LayerHistory


def travelled(history: LayerHistory) -> NDArray[np.float64]:
    """Distance of each key from one frame to the next, [F - 1, E]. 0 where a key was respawned."""
    step_FE = np.linalg.norm(np.diff(history.keys_FED.astype(np.float64), axis=0), axis=2)
    return np.where(reborn(history)[1:], 0.0, step_FE)


def reborn(history: LayerHistory) -> NDArray[np.bool_]:
    """Which keys were respawned between a frame and the one before it, [F, E]; none in the first."""
    newer_FE = np.zeros(history.born_FE.shape, dtype=np.bool_)
    newer_FE[1:] = history.born_FE[1:] > history.born_FE[:-1]
    return newer_FE


def way_covered(history: LayerHistory) -> list[float]:
    """At each frame, the share of its whole path that the mean key has covered; from 0 to 1.

    `way_covered(...)[f] >= 0.9` means that keys have covered nine tenths of their path by frame f."""
    path = np.concatenate([[0.0], np.cumsum(travelled(history).mean(axis=1))])
    return (path / path[-1] if path[-1] > 0 else np.ones_like(path)).tolist()
