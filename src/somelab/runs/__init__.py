"""The run folder: written by train, read by everything that shows or compares runs."""

from somelab.runs.folder import RunError, RunFolder

__all__ = ["RunError", "RunFolder"]
