"""Optional behaviour of a run is a callback. The loop calls only these methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from somelab.core.keystore import GravityReport
from somelab.training.evaluate import Evaluation

if TYPE_CHECKING:
    from somelab.training.loop import Trainer


@dataclass(frozen=True)
class StepRecord:
    """One optimizer step."""

    step: int
    """Steps done, this one included."""
    loss: float
    """Nats per counted token."""
    learning_rate: float
    grad_norm: float
    tokens: int
    """Counted tokens trained on so far."""
    aux_loss: float
    step_tokens: int
    step_seconds: float
    progress: float
    loss_without_padding: float | None = None
    """Nats per token of meaning, where padding is in the loss; None elsewhere."""
    reports: list[GravityReport | None] = field(default_factory=list)

    def metrics(self) -> dict[str, Any]:
        """The record for the journal of metrics, without anything that depends on the clock."""
        names = ("step", "loss", "learning_rate", "grad_norm", "tokens", "aux_loss")
        record = {"kind": "train", **{name: getattr(self, name) for name in names}}
        if self.loss_without_padding is not None:
            record["loss_without_padding"] = self.loss_without_padding
        return record


class Callback:
    """Every method does nothing by default. Callbacks run on the first rank only and must not change the
    state of training."""

    def on_start(self, trainer: Trainer) -> None:
        """Before the first step of this process; a resumed run starts again."""

    def on_step(self, trainer: Trainer, record: StepRecord) -> None:
        """After each optimizer step and the movement of the keys."""

    def on_evaluation_begin(self, trainer: Trainer, *, final: bool) -> None:
        """Before each evaluation, which takes longer than a step."""

    def on_evaluation(self, trainer: Trainer, evaluation: Evaluation, *, final: bool) -> None:
        """After each evaluation; `final`: the one over all of the validation text, at the end."""

    def on_warning(self, trainer: Trainer, sentence: str) -> None:
        """When something looks wrong, such as a collapse of the router; once per kind."""

    def on_checkpoint(self, trainer: Trainer) -> None:
        """After a checkpoint is written."""

    def on_end(self, trainer: Trainer, reason: str) -> None:
        """`reason`: finished, interrupted, or failed, if an error is being raised."""


class Pause(Callback):
    """Ends a run after a step as Ctrl-C does: saved and resumable. An evaluation due at that step is done
    first."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, trainer: Trainer, record: StepRecord) -> None:
        if record.step >= self.step:
            trainer.stop.requested = True
