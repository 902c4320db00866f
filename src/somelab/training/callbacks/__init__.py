"""Optional behaviour of a run: views, recorders, a profile, and users' own. Each is a `Callback`."""

from somelab.training.callbacks.callback import Callback, Pause, StepRecord

__all__ = ["Callback", "Pause", "StepRecord"]
