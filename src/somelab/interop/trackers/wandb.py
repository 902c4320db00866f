"""Weights & Biases: offline in the folder `wandb` of the run; `wandb sync` uploads it later. With
WANDB_MODE=online it is sent while training."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

from somelab.errors import SomelabError
from somelab.interop.extras import needed
from somelab.interop.trackers.tracker import Entry, Tracker

if TYPE_CHECKING:
    from somelab.training.loop import Trainer

PROJECT = "somelab"


class WandbTracker(Tracker):
    def open(self, trainer: Trainer, settings: dict[str, Any]) -> None:
        self.wandb = wandb = needed("wandb", "wandb", "--log wandb")
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        path = trainer.run.path.resolve()
        try:
            self.run: Any = wandb.init(
                project=os.environ.get("WANDB_PROJECT", PROJECT),
                name=path.name,
                # The same for the same folder, so that a resumed run goes on in one place.
                id=hashlib.blake2b(str(path).encode(), digest_size=8).hexdigest(),
                resume="allow" if mode == "online" else None,
                dir=str(path),
                config=settings,
                mode=mode,
                settings=wandb.Settings(silent=True, console="off", save_code=False),
            )
        except Exception as error:  # wandb raises errors of several kinds for a missing login or network
            raise SomelabError(
                f"--log wandb: cannot begin ({' '.join(str(error).split())}); log in with `wandb login`, or "
                "leave WANDB_MODE unset to log offline"
            ) from None

    def write(self, entry: Entry) -> None:
        content: dict[str, Any] = {**entry.scalars, **entry.texts}
        for name, values_E in entry.histograms.items():
            content[name] = self.wandb.Histogram(values_E.tolist())
        for name, image in entry.images.items():
            content[name] = self.wandb.Image(image)
        self.run.log(content, step=entry.step)

    def close(self, reason: str) -> None:
        self.run.finish(exit_code=1 if reason == "failed" else 0)
