"""A new process that does one training step and reports its peak memory. Started by `bench memory`: peak
memory never falls again within a process, so each measurement needs its own."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

from somelab.bench.settings import Settings
from somelab.bench.suites.documents import batch_from, documents
from somelab.bench.suites.training import Stepper, notebook_decoder
from somelab.config import Config
from somelab.model.decoder import Decoder
from somelab.native import load as load_native
from somelab.training.loop import micro_rows
from somelab.training.machine.process import prepare_process


def peak_bytes() -> int:
    """Resident memory at its highest so far. On Linux `ru_maxrss` includes the parent's memory from before
    exec, so the kernel's mark of this program is read instead."""
    if sys.platform == "linux":
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def measure(task: dict[str, Any]) -> dict[str, float]:
    load_native()
    start = peak_bytes()
    config = Config.model_validate(task["config"])
    text, _ = documents(config, task["data"])
    batch = batch_from(text, config, config.train.batch_size, packed=True)
    model = Decoder(config)
    weights = sum(
        tensor.numel() * tensor.element_size() for tensor in (*model.parameters(), *model.buffers())
    )
    if task["way"] == "notebook":
        model = notebook_decoder(model)
    stepper = Stepper(model, config, Settings(dtype=task["dtype"]))
    batches = batch.micro_batches(micro_rows(config, 1))
    stepper.step_(batches[:1])
    stepper.step_(batches)
    # The kernel adds up resident memory from per-core counters, so a later reading can be a few pages lower.
    return {"start": start, "weights": weights, "peak": max(start, peak_bytes())}


if __name__ == "__main__":
    prepare_process()
    print(json.dumps(measure(json.load(sys.stdin))))
