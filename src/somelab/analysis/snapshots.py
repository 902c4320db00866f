"""Key snapshots of a run folder as arrays over time: the input of maps, usage histograms and drift.

Shape letters: F frames (snapshots), E experts, D model width."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from somelab.errors import SomelabError
from somelab.runs import RunFolder

NAME = re.compile(r"step-(\d+)\.safetensors")
FLOAT = np.float32
MOST_BYTES = 2 << 30
"""Of all snapshots, which are held in memory together: some hundred of the largest preset."""


class SnapshotError(SomelabError):
    """A damaged snapshot."""


@dataclass(frozen=True)
class LayerHistory:
    """One layer's keys over training."""

    steps: list[int]
    keys_FED: NDArray[np.float32]
    usage_FE: NDArray[np.float32]
    """Moving average of selections per step."""
    mass_FE: NDArray[np.float32]
    born_FE: NDArray[np.int32]
    """Step at which each key was last respawned; -1 if never."""
    expert_E: NDArray[np.int32] | None = None
    """The experts of a large pool whose keys were kept; None: all."""
    pool: int | None = None
    """The number of experts in that pool."""

    @property
    def num_experts(self) -> int:
        """Experts that are shown."""
        return self.keys_FED.shape[1]


def snapshot_files(run: RunFolder) -> dict[int, Path]:
    """Snapshots by step. Other files, such as those still being written, are skipped."""
    if not run.keys.is_dir():
        return {}
    try:
        found = [(NAME.fullmatch(path.name), path) for path in run.keys.iterdir()]
    except OSError as error:
        raise SnapshotError(f"{run.keys}: cannot be read ({error.strerror or error})") from None
    return dict(sorted((int(match[1]), path) for match, path in found if match))


def read_history(run: RunFolder) -> list[LayerHistory]:
    """Every layer over all snapshots; empty if the run has none."""
    from safetensors import SafetensorError

    from somelab.runs.snapshot import unpacked

    frames: dict[int, dict[str, NDArray[Any]]] = {}
    num_bytes = 0
    for step, path in snapshot_files(run).items():
        try:
            num_bytes += path.stat().st_size
            if num_bytes > MOST_BYTES:
                raise SnapshotError(f"{run.keys}: has more than {MOST_BYTES:,} bytes; remove some snapshots")
            frames[step] = unpacked(path, inside=run.path)
        except FileNotFoundError:
            continue  # a resumed run has just removed what came after its checkpoint
        except (SafetensorError, OSError, ValueError) as error:
            raise SnapshotError(
                f"{path}: is damaged ({_first_line(error)}); remove it, the others can be read"
            ) from None
    if not frames:
        return []
    num_layers = sum(name.endswith(".keys") for name in next(iter(frames.values())))
    try:
        return [_layer(frames, layer) for layer in range(num_layers)]
    except (KeyError, ValueError) as error:
        raise SnapshotError(
            f"{run.keys}: snapshots do not fit together ({_first_line(error)}); remove the odd one"
        ) from None


def _layer(frames: dict[int, dict[str, NDArray[Any]]], layer: int) -> LayerHistory:
    def over_time(name: str, dtype: Any) -> NDArray[Any]:
        return np.stack([frame[f"{layer}.{name}"] for frame in frames.values()]).astype(dtype)

    expert_E, pool = _sample(frames, layer)
    return LayerHistory(
        list(frames),
        over_time("keys", FLOAT),
        over_time("usage", FLOAT),
        over_time("mass", FLOAT),
        over_time("born", np.int32),
        expert_E,
        pool,
    )


def _sample(
    frames: dict[int, dict[str, NDArray[Any]]], layer: int
) -> tuple[NDArray[np.int32] | None, int | None]:
    """The experts that were kept, and of how many; the same in all snapshots."""
    name = f"{layer}.experts"
    if not any(name in frame for frame in frames.values()):
        return None, None
    expert_FE = np.stack([frame[name] for frame in frames.values()]).astype(np.int32)
    pools = {int(frame[f"{layer}.pool"].reshape(-1)[0]) for frame in frames.values()}
    if len(pools) > 1 or (expert_FE != expert_FE[0]).any() or expert_FE.max() >= min(pools):
        raise ValueError("they hold different experts")
    return expert_FE[0], pools.pop()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
