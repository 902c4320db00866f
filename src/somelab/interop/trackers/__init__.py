"""Experiment trackers: `somelab train --log tensorboard`. One callback each, all offline unless told
otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from somelab.errors import ConfigError, nearest
from somelab.interop.extras import needed
from somelab.interop.trackers.tracker import Tracker

TRACKERS = {
    "tensorboard": ("tensorboard", "TensorBoardTracker"),
    "trackio": ("trackio", "TrackioTracker"),
    "wandb": ("wandb", "WandbTracker"),
    "mlflow": ("mlflow", "MlflowTracker"),
}
"""By name: the package, and the class in the file of that name beside this one."""

__all__ = ["TRACKERS", "Tracker", "trackers_of"]


def trackers_of(names: Sequence[str]) -> list[Tracker]:
    """A callback for each name, once. The packages are imported here, so that a missing one is known at
    once."""
    for name in names:
        if name not in TRACKERS:
            raise ConfigError("--log", name, "is no tracker", nearest(name, TRACKERS))
    made: list[Tracker] = []
    for name in dict.fromkeys(names):
        package, kind = TRACKERS[name]
        needed(package, name, f"--log {name}")
        made.append(getattr(import_module(f"somelab.interop.trackers.{name}"), kind)())
    return made
