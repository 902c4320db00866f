"""Trackio: a local database where trackio keeps its own (TRACKIO_DIR). `trackio show --project somelab` shows
it. With TRACKIO_SPACE_ID set, trackio itself sends it to a Space."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Any

from somelab.interop.extras import needed
from somelab.interop.trackers.tracker import Entry, Tracker

if TYPE_CHECKING:
    from somelab.training.loop import Trainer

PROJECT = "somelab"


class TrackioTracker(Tracker):
    def open(self, trainer: Trainer, settings: dict[str, Any]) -> None:
        self.trackio = needed("trackio", "trackio", "--log trackio")
        with contextlib.redirect_stdout(io.StringIO()):  # its banner would break the live panel
            self.run: Any = self.trackio.init(
                project=PROJECT,
                name=trainer.run.path.resolve().name,
                config=settings,
                resume="allow",
                embed=False,
                auto_log_gpu=False,
                auto_log_cpu=False,
            )

    def write(self, entry: Entry) -> None:
        content: dict[str, Any] = {**entry.scalars, **entry.texts}
        for name, values_E in entry.histograms.items():
            content[name] = self.trackio.Histogram(values_E)
        for name, image in entry.images.items():
            content[name] = self.trackio.Image(image)
        self.run.log(content, step=entry.step)

    def close(self, reason: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self.run.finish()
