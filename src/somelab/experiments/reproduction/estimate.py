"""How long a run will take on this machine, measured before it starts: a few micro-batches of its own model
on its own text, thrown away afterwards. A run that has begun is judged by its own steps."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, cast

from somelab.config import Config, override
from somelab.runs import RunFolder
from somelab.training.machine.memory import BESIDE

if TYPE_CHECKING:
    from collections.abc import Generator

    from somelab.data.batch import Batch
    from somelab.data.prepare import PreparedData

HOUR = 3600
BUSY = 0.7
"""Share of its cores' time below which the machine is called busy."""
FORWARD_SHARE = 0.4
"""Of a step's time that its forward pass takes, by multiplications: frozen experts need one product in
backward for each in forward, all else two."""
WHOLE_UP_TO = 2e9
"""Bytes of a model up to which it is measured as a whole."""
RECENT = 50
"""Steps of a begun run that its speed is taken from."""


@dataclass(frozen=True)
class Estimate:
    """What is left of a run."""

    num_steps: int
    steps_done: int
    step_seconds: float
    num_evaluations: int
    """Those that are left."""
    evaluation_seconds: float
    peak_bytes: int | None
    """Most memory that this process has used so far, or that a model which was not built as a whole needs;
    None if the system does not report it."""
    share: float = 1.0
    """Of its cores' time that this process got while it was measured: less than 1 on a busy machine."""

    @property
    def seconds(self) -> float:
        steps = (self.num_steps - self.steps_done) * self.step_seconds
        return steps + self.num_evaluations * self.evaluation_seconds

    def record(self) -> dict[str, Any]:
        return {
            "steps": self.num_steps,
            "steps_done": self.steps_done,
            "step_seconds": round(self.step_seconds, 4),
            "evaluations_left": self.num_evaluations,
            "evaluation_seconds": round(self.evaluation_seconds, 2),
            "hours_left": round(self.seconds / HOUR, 4),
            "hours_on_a_quiet_machine": round(self.seconds * self.share / HOUR, 4),
            "peak_bytes": self.peak_bytes,
        }

    def sentence(self) -> str:
        done = f" of which {self.steps_done:,} are done" if self.steps_done else ""
        memory = f", {self.peak_bytes / 1e9:.1f} GB of memory" if self.peak_bytes else ""
        busy = (
            f" at the present load (this process gets {self.share:.0%} of its cores; alone about "
            f"{_duration(self.seconds * self.share)})"
            if self.share < BUSY
            else ""
        )
        return (
            f"{self.num_steps:,} steps{done}, {_duration(self.step_seconds)} each; {self.num_evaluations} "
            f"evaluations, {_duration(self.evaluation_seconds)} each: about {_duration(self.seconds)}{busy}"
            f"{memory}"
        )


def measured(config: Config, num_steps: int, num_evaluations: int, data: PreparedData) -> Estimate:
    """Time a few passes of the run's own model, which is thrown away with all that it changed. Of a large one
    a copy with one layer and one with two: all layers cost the same, so that the rest follows, and the answer
    needs neither its memory nor the minutes in which its weights are drawn."""
    from somelab.model.count import count_parameters

    num_bytes, depth = count_parameters(config).bytes, config.model.num_layers
    if num_bytes <= WHOLE_UP_TO or depth <= 2:
        step_seconds, evaluation_seconds, share = _timed(config, data)
        memory = _peak_memory()
    else:
        one, two = (_timed(override(config, {"model.num_layers": layers}), data) for layers in (1, 2))
        step_seconds, evaluation_seconds = (_at_depth(depth, one[part], two[part]) for part in (0, 1))
        share, memory = min(one[2], two[2]), round(num_bytes + BESIDE)
    gc.collect()
    return Estimate(num_steps, 0, step_seconds, num_evaluations, evaluation_seconds, memory, share)


def _at_depth(depth: int, one: float, two: float) -> float:
    """Seconds with `depth` layers from those with one and with two. On a busy machine the second may not be
    the longer one: then all of it counts as layers."""
    layer = two - one if two > one else two / 2
    return two + (depth - 2) * layer


def _timed(config: Config, data: PreparedData) -> tuple[float, float, float]:
    """Seconds of a step and of an evaluation, and the share of its cores' time that the process got.

    From one micro-batch forward and backward, one optimizer step with gravity, and one forward pass, after a
    first pass that builds kernels and fills caches."""
    import torch

    from somelab.data.batches import Loader
    from somelab.model import Decoder
    from somelab.native import load as load_native
    from somelab.training.loop import TrainingLoss, micro_rows
    from somelab.training.machine.precision import autocast, resolve
    from somelab.training.optimizer import build_optimizer

    load_native()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = resolve(config.train.precision, device)
    model = Decoder(config).to(device)
    optimizer, loss = build_optimizer(model, config.train), TrainingLoss(model)
    with closing(cast("Generator[Batch]", iter(Loader(data, config, device=device)))) as loaded:
        batches = next(loaded).micro_batches(micro_rows(config, 1))

    def one(number: int) -> None:
        with autocast(dtype, device):
            nats, aux_loss = loss(batches[number % len(batches)])
            (nats / max(1, batches[0].num_counted_global) + aux_loss).backward()

    def finish() -> None:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        model.apply_gravity_()

    def forward() -> None:
        with torch.no_grad(), autocast(dtype, device):
            model(batches[0].tokens_BT, hidden_only=True)

    one(0)
    started, cpu = time.perf_counter(), time.process_time()
    step_seconds = len(batches) * _time(lambda: one(1)) + _time(finish)
    share = (time.process_time() - cpu) / (time.perf_counter() - started) / torch.get_num_threads()
    model.eval()
    passes = evaluation_rows(config, data) / len(batches[0].tokens_BT)
    return step_seconds, _time(forward) * passes, min(1.0, share)


def evaluation_rows(config: Config, data: PreparedData) -> int:
    """Sequences that an evaluation reads: packed, and padded where it counts padding too."""
    from somelab.data.batches import EvaluationLoader
    from somelab.training.evaluate import in_layout

    layouts = ("pack", "pad") if config.train.eval_with_padding else ("pack",)
    return sum(EvaluationLoader(data, in_layout(config, layout)).num_sequences for layout in layouts)


def of_begun(run: RunFolder, num_steps: int, num_evaluations: int, num_rows: int) -> Estimate | None:
    """From the steps of a run that has begun; None if it has made none, or no checkpoint. `num_rows`: of an
    evaluation, which is taken for that many forward passes as long as none was made."""
    from somelab.runs import checkpoint

    timing = run.records("timing")
    if not timing or not checkpoint.is_any(run):
        return None
    done = checkpoint.read_state(run).step
    step_seconds = median(record["step_seconds"] for record in timing[-RECENT:])
    # What lies between steps and is none: evaluations, samples and checkpoints.
    gaps = [late["seconds"] - early["seconds"] - late["step_seconds"] for early, late in pairwise(timing)]
    made = [gap for gap in gaps if gap > step_seconds]
    left = max(1, num_evaluations - num_evaluations * done // max(1, num_steps))
    forward = FORWARD_SHARE * step_seconds * num_rows / run.config().train.batch_size
    return Estimate(num_steps, done, step_seconds, left, median(made) if made else forward, None)


def _time(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _peak_memory() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * 1024


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 2 * HOUR else f"{seconds / HOUR:.1f} hours"
