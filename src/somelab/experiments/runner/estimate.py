"""How long a job will take: as long as it took before, else by its FLOPs at the speed that finished jobs had.
For ordering and ETAs only; documented figures are measured."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

from somelab.config import Config
from somelab.experiments.runner.job import read_outcome
from somelab.experiments.runner.plan import Job

# FLOPs a second of one core with models this small, and what a job takes beside its steps (start,
# evaluations, checkpoints).
USUAL_SPEED = 45e9
SECONDS_BESIDE = 10.0
BACKWARD = 3
"""A step costs three times its forward pass."""


@dataclass(frozen=True)
class Size:
    """What a job computes."""

    num_steps: int
    flops: float
    minutes: float | None = None
    """Set if the run has a time budget."""


def size_of(job: Job, num_steps: int) -> Size:
    """`num_steps`: of the whole run; 0 for a time budget."""
    config = job.config
    tokens = num_steps * config.train.batch_size * config.model.seq_len
    return Size(
        num_steps, BACKWARD * tokens * _flops_per_token(config.model_dump_json()), config.train.minutes
    )


@cache
def _flops_per_token(config: str) -> int:
    """Cached, since a ledger needs the same arms repeatedly."""
    from somelab.model.count import count_parameters

    return count_parameters(Config.model_validate_json(config)).flops_per_token


def seconds_of(size: Size, speed: float = USUAL_SPEED) -> float:
    """CPU seconds of one core."""
    return SECONDS_BESIDE + (60 * size.minutes if size.minutes is not None else size.flops / speed)


def measured_speed(sizes: list[tuple[Job, Size]]) -> float:
    """The median speed of the jobs that have finished; the usual one where none has."""
    speeds: list[float] = []
    for job, size in sizes:
        outcome = read_outcome(job)
        if (
            outcome is not None
            and outcome.status == "finished"
            and outcome.cpu_seconds > SECONDS_BESIDE
            and size.flops
        ):
            speeds.append(size.flops / (outcome.cpu_seconds - SECONDS_BESIDE))
    return median(speeds) if speeds else USUAL_SPEED


def share_done(job: Job, size: Size) -> float:
    """How much of a running job is over, from the last whole line of its journal of times."""
    record = _last_record(job.folder / "timing.jsonl")
    if record is None:
        return 0.0
    share = (
        record["seconds"] / (60 * size.minutes)
        if size.minutes is not None
        else record["step"] / max(1, size.num_steps)
    )
    return min(1.0, share)


def _last_record(path: Path) -> dict[str, float] | None:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 1024))
            lines = file.read().split(b"\n")[:-1]
        return json.loads(lines[-1]) if lines else None
    except (OSError, ValueError):
        return None
