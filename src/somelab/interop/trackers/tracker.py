"""What every tracker logs, and when: step records, evaluations, measures of every layer, histograms of use
and maps of the keys. A tracker itself only writes entries.

Shape letters: E experts, D model width."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from somelab.interop.trackers.picture import KeyPicture
from somelab.training.budget import Cadence
from somelab.training.callbacks import Callback, StepRecord
from somelab.training.evaluate import Evaluation
from somelab.training.measuring import of_step

if TYPE_CHECKING:
    from somelab.training.loop import Trainer

STEPS, LAYERS, PICTURES = 5000, 400, 20
"""At most so many times per run: the scalars of a step, measures of the layers, histograms and maps."""


@dataclass
class Entry:
    """All that is logged at one step."""

    step: int
    scalars: dict[str, float] = field(default_factory=dict)
    histograms: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    """Values whose distribution is shown."""
    images: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    """[height, width, 3]"""
    texts: dict[str, str] = field(default_factory=dict)


class Tracker(Callback):
    """A tracker of experiments as a callback. A subclass opens, writes and closes."""

    def __init__(self) -> None:
        self._progress = 0.0
        self._pictures: list[KeyPicture] = []
        self._is_open = False

    @abstractmethod
    def open(self, trainer: Trainer, settings: dict[str, Any]) -> None:
        """Begin, or go on with what an interrupted run has logged. `settings`: the configuration, by dotted
        name."""

    @abstractmethod
    def write(self, entry: Entry) -> None:
        """Log one step. Evaluations write the step of their training step again."""

    @abstractmethod
    def close(self, reason: str) -> None:
        """Flush. `reason`: finished, interrupted or failed."""

    def on_start(self, trainer: Trainer) -> None:
        self._progress = trainer.budget.progress(trainer.state.step, trainer.state.seconds)
        self._pictures = [KeyPicture(layer.keys.cpu().numpy()) for layer in trainer.model.some_layers()]
        self.open(trainer, flat(trainer.config.model_dump(mode="json")))
        self._is_open = True

    def on_step(self, trainer: Trainer, record: StepRecord) -> None:
        before, self._progress = self._progress, record.progress

        def is_due(times: int) -> bool:
            return Cadence(None, times).is_due(record.step, before, record.progress)

        entry = Entry(record.step)
        if is_due(STEPS):
            entry.scalars |= step_scalars(record)
        if is_due(LAYERS):
            layers = zip(trainer.model.some_layers(), record.reports, strict=True)
            measured = [of_step(layer, report) for layer, report in layers]
            entry.scalars |= layer_scalars(measured)
        if is_due(PICTURES):
            self._look_inside(trainer, entry)
        if entry.scalars:
            self.write(entry)

    def on_evaluation(self, trainer: Trainer, evaluation: Evaluation, *, final: bool) -> None:
        named = {name: value for name, value in evaluation.record().items() if isinstance(value, float)}
        scalars = {f"evaluation/{name}": value for name, value in named.items() if math.isfinite(value)}
        scalars |= layer_scalars(evaluation.layers, "evaluation/layer")
        entry = Entry(trainer.state.step, scalars)
        if evaluation.findings:
            entry.texts["findings"] = "\n".join(evaluation.findings)
        self.write(entry)

    def on_end(self, trainer: Trainer, reason: str) -> None:
        if self._is_open:
            self._is_open = False
            self.close(reason)

    def _look_inside(self, trainer: Trainer, entry: Entry) -> None:
        for number, (layer, picture) in enumerate(zip(trainer.model.some_layers(), self._pictures)):
            usage_E = layer.keystore.usage_E.cpu().numpy()
            entry.histograms[f"layer_{number}/use"] = usage_E
            entry.images[f"layer_{number}/keys"] = picture.draw(layer.keys.cpu().numpy(), usage_E)


def step_scalars(record: StepRecord) -> dict[str, float]:
    """Loss, rates and speed of one step."""
    speed = record.step_tokens / record.step_seconds if record.step_seconds else 0.0
    return {
        "train/loss": record.loss,
        "train/learning_rate": record.learning_rate,
        "train/grad_norm": record.grad_norm,
        "train/aux_loss": record.aux_loss,
        "train/tokens": float(record.tokens),
        "speed/tokens_per_second": speed,
    }


def layer_scalars(layers: list[dict[str, float]], prefix: str = "layer") -> dict[str, float]:
    """Gini, entropy, crowding, drift, respawns and so on, by layer."""
    return {
        f"{prefix}_{number}/{name}": float(value)
        for number, measured in enumerate(layers)
        for name, value in measured.items()
    }


def flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """A tree of settings by dotted name."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= (
            flat(value, f"{prefix}{name}.")
            if isinstance(value, dict) and value
            else {f"{prefix}{name}": value}
        )
    return found
