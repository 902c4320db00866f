"""A fresh process that does one training step and says how much memory it took at most. Started by `bench memory`:
peak memory never falls again within a process, so each measurement needs its own."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

from somelab.bench.documents import batch_from, documents
from somelab.bench.settings import Settings
from somelab.bench.training import Stepper, notebook_decoder
from somelab.config import Config
from somelab.model.decoder import Decoder
from somelab.native import load as load_native
from somelab.train.loop import micro_rows
from somelab.train.process import prepare_process


def peak_bytes() -> int:
    """Resident memory at its highest so far. Linux counts what the parent had before this program took its place into
    `ru_maxrss`, so there the kernel's own mark of this program is read."""
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
    weights = sum(tensor.numel() * tensor.element_size() for tensor in (*model.parameters(), *model.buffers()))
    if task["way"] == "notebook":
        model = notebook_decoder(model)
    stepper = Stepper(model, config, Settings(dtype=task["dtype"]))
    batches = batch.micro_batches(micro_rows(config, 1))
    stepper.step_(batches[:1])
    stepper.step_(batches)
    return {"start": start, "weights": weights, "peak": peak_bytes()}


if __name__ == "__main__":
    prepare_process()
    print(json.dumps(measure(json.load(sys.stdin))))
