"""TensorBoard: event files in the folder `tensorboard` of the run. `tensorboard --logdir RUN` shows them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from somelab.interop.trackers.tracker import Entry, Tracker

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter

    from somelab.training.loop import Trainer

FOLDER = "tensorboard"


class TensorBoardTracker(Tracker):
    writer: SummaryWriter

    def open(self, trainer: Trainer, settings: dict[str, Any]) -> None:
        from torch.utils.tensorboard.writer import SummaryWriter

        step = trainer.state.step
        # What was logged after the checkpoint from which a run goes on is dropped.
        self.writer = SummaryWriter(str(trainer.run.path / FOLDER), purge_step=step + 1 if step else None)
        if not step:
            self.writer.add_text("settings", f"```json\n{json.dumps(settings, indent=1)}\n```", 0)

    def write(self, entry: Entry) -> None:
        for name, value in entry.scalars.items():
            self.writer.add_scalar(name, value, entry.step)
        for name, values_E in entry.histograms.items():
            self.writer.add_histogram(name, values_E, entry.step)
        for name, image in entry.images.items():
            self.writer.add_image(name, image, entry.step, dataformats="HWC")
        for name, text in entry.texts.items():
            self.writer.add_text(name, text, entry.step)

    def close(self, reason: str) -> None:
        self.writer.close()
