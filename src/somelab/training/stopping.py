"""How a run ends before its budget: on request (Ctrl-C, SIGTERM), or because the loss has diverged."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator
from types import FrameType

from somelab.errors import SomelabError
from somelab.runs import RunFolder, checkpoint
from somelab.runs.checkpoint import RunState


class StopRequest:
    """Records a first signal, so that the current step is finished and saved; a second one interrupts at
    once."""

    def __init__(self) -> None:
        self.requested = False

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    @contextlib.contextmanager
    def listening(self) -> Generator[None]:
        """Handle SIGINT and SIGTERM within. Only the main thread can do this; in others the handlers stay."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._receive) for number in signals]
        try:
            yield
        finally:
            for number, handler in zip(signals, before, strict=True):
                signal.signal(number, handler)


class Diverged(SomelabError):
    """The loss or its gradient is not finite, or has exploded."""

    def __init__(self, what: str, *, state_is_good: bool) -> None:
        self.what, self.state_is_good = what, state_is_good
        super().__init__(what)

    def with_remedy(self, run: RunFolder, state: RunState) -> Diverged:
        """The same error with the saved state and the remedy."""
        if self.state_is_good:
            kept = f"step {state.step} is saved in {run.checkpoints / 'last'}"
        elif checkpoint.is_any(run):
            kept = f"{run.checkpoints / 'last'} keeps step {checkpoint.read_state(run).step}"
        else:
            kept = "no checkpoint had been written yet"
        sentence = (
            f"training diverged: {self.what}; {kept}; lower train.learning_rate or raise "
            "train.warmup_fraction"
        )
        return Diverged(sentence, state_is_good=self.state_is_good)
