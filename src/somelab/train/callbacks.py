"""What a run may do beside training: each a callback with its own concern. The loop knows only these moments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from somelab.core.keystore import GravityReport
from somelab.train.evaluate import Evaluation

if TYPE_CHECKING:
    from somelab.train.loop import Trainer


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
    reports: list[GravityReport | None] = field(default_factory=list)

    def metrics(self) -> dict[str, Any]:
        """What goes into the journal of metrics: nothing that depends on the clock."""
        names = ("step", "loss", "learning_rate", "grad_norm", "tokens", "aux_loss")
        return {"kind": "train", **{name: getattr(self, name) for name in names}}


class Callback:
    """All moments, doing nothing. Callbacks act on the first rank only, and never on the state that training depends on."""

    def on_start(self, trainer: Trainer) -> None: ...

    def on_step(self, trainer: Trainer, record: StepRecord) -> None: ...

    def on_evaluation(self, trainer: Trainer, evaluation: Evaluation, *, final: bool) -> None: ...

    def on_warning(self, trainer: Trainer, sentence: str) -> None: ...

    def on_checkpoint(self, trainer: Trainer) -> None: ...

    def on_end(self, trainer: Trainer, reason: str) -> None:
        """`reason`: finished, interrupted, or failed, where an error is on its way."""
