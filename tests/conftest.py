"""What all tests share: one thread, and property tests that try the same cases on every machine.
A failing case must fail again when it is run again."""

from __future__ import annotations

import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)  # the sizes here are too small for more, and pytest-xdist already uses every core

settings.register_profile(
    "somelab",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile("somelab")
