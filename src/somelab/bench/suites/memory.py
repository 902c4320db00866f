"""`somelab bench memory`: peak memory of a training step, each in a new process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from somelab.bench.measuring import LONGEST_NOTE
from somelab.bench.notebook import check_notebook_can
from somelab.bench.results import OURS, Result, Row
from somelab.bench.settings import Settings
from somelab.config import Config, override

DEFAULT = "a1"
BIG: dict[str, Any] = {"experts.storage": "int8", "train.batch_size": 4}
"""What b3 runs with: ten pools of 512 experts take 5.4 GB in int8, and twice that in bf16."""


def run(settings: Settings) -> Result:
    config = settings.config(DEFAULT)
    name = settings.name(DEFAULT)
    check_notebook_can(config, name)
    rows = [_row(name, config, "ours", settings), _row(name, config, "notebook", settings)]
    figures = {"peak_bytes": rows[0].median}
    if settings.big:
        big = override(Settings(preset="b3", dtype=settings.dtype).config("b3"), BIG)
        rows.append(_row("b3 in int8", big, "ours", settings))
        figures["peak_bytes_b3"] = rows[-1].median
    return Result(
        "memory",
        "Peak memory of a training step",
        settings.record(presets=sorted({row.case for row in rows})),
        rows,
        figures=figures,
        notes=[
            (
                "Resident memory at its highest, Python and torch included. A step of one micro-batch comes "
                "first, so that the optimizer has its state when the whole step runs; the notebooks' "
                "implementation gets the same micro-batches."
            )
        ],
    )


def _row(name: str, config: Config, way: str, settings: Settings) -> Row:
    settings.announce(f"memory: a step of {name}, {way}")
    case = f"{name}, batch {config.train.batch_size} x {config.model.seq_len}"
    kind = OURS if way == "ours" else way
    task = {
        "config": config.model_dump(mode="json"),
        "way": way,
        "dtype": settings.dtype,
        "data": settings.data,
    }
    done = subprocess.run(
        [sys.executable, "-m", "somelab.bench.child"],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (
            "killed, most likely out of memory"
            if done.returncode < 0
            else (done.stderr.strip().splitlines() or ["?"])[-1]
        )
        return Row(case, way, kind, unit="bytes", problem=reason[:LONGEST_NOTE])
    reported: dict[str, float] = json.loads(done.stdout)
    note = (
        f"{reported['weights'] / 1e9:.2f} GB of it weights and buffers, {reported['start'] / 1e9:.2f} GB "
        "Python and torch"
    )
    peak = reported["peak"]
    return Row(case, way, kind, peak, peak, peak, unit="bytes", repetitions=1, note=note, details=reported)
