"""How a run ends before its budget: on request (Ctrl-C, SIGTERM), or because the loss has diverged."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator
from types import FrameType

from somelab.errors import SomelabError
from somelab.runs import RunFolder, checkpoint


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
    """The loss, its gradient or the weights are not finite, or have exploded."""

    def with_remedy(self, run: RunFolder, step: int, *, writes: bool) -> Diverged:
        """The same error with the checkpoint that is kept and the remedy. `step`: the steps done. `writes`:
        on the first rank, which takes back a `last` that led to the divergence."""
        kept = checkpoint.give_up(run, step, writes=writes)
        remedy = (
            "no checkpoint had been written yet; lower train.learning_rate and train again"
            if kept is None
            else f"{run.checkpoints / 'last'} keeps step {kept}; lower train.learning_rate in config.yaml "
            f"and continue with `somelab resume {run.path} --accept-config`"
        )
        return Diverged(f"training diverged: {self}; {remedy}")
