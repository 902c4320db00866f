"""How a process that computes is set up: what costs nothing, changes no number and makes steps faster. For programs of their own,
such as the verbs and the workers of a sweep; the library leaves the process of whoever imports it as it is."""

from __future__ import annotations

import torch

from somelab.train.allocator import keep_freed_memory


def prepare_process() -> None:
    """Keep freed memory, and let numbers below 1e-38 be zero.

    Arithmetic on such denormal numbers is many times slower, and the tails of attention's softmax are full of them: where scores
    are large, the kernel's backward pass takes up to four times as long. Threads take this over from the one that starts
    them, so it comes before any tensor is computed."""
    keep_freed_memory()
    torch.set_flush_denormal(True)
