"""Compiled kernels for the experts' dispatch: an optional accelerator, built once on the user's machine and
kept in the cache.

Without a compiler, or with SOMELAB_NATIVE=0, torch does the work; `somelab doctor` reports which and why."""

from somelab.native.loading import Status, load

__all__ = ["Status", "load"]
