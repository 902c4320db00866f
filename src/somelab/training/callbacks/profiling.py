"""Where the time of a step goes: a trace of a few steps after warm-up, by part of the model. A callback of
`somelab train --profile`; it does not change training, and is not loaded without that flag."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from somelab.disk import atomic
from somelab.training.callbacks import Callback, StepRecord
from somelab.training.callbacks.breakdown import Breakdown, Ranges, break_down

if TYPE_CHECKING:
    from torch.profiler import profile

    from somelab.training.loop import Trainer

WARM_UP = 2  # steps that build kernels, optimizer state and the heap
FOLDER, TRACE, SUMMARY = "profile", "trace.json.gz", "summary.json"


class StepProfile(Callback):
    """Profiles `num_steps` steps after a warm-up, then writes and prints the result; a run that ends earlier
    gives what it has."""

    def __init__(self, num_steps: int, console: Console | None = None) -> None:
        """`console`: a terminal to draw tables on. None: plain lines."""
        self.num_steps, self.console = num_steps, console
        self._ranges = Ranges()
        self._profile: profile | None = None
        self._first = self._begun = 0
        self._started = 0.0

    def on_start(self, trainer: Trainer) -> None:
        total = trainer.budget.steps
        spare = WARM_UP if total is None else max(0, total - trainer.state.step - self.num_steps)
        self._first = trainer.state.step + min(WARM_UP, spare)
        if self._first == trainer.state.step:
            self._begin(trainer)

    def on_step(self, trainer: Trainer, record: StepRecord) -> None:
        if self._profile is not None and record.step - self._begun >= self.num_steps:
            self._finish(trainer)
        elif record.step == self._first:
            self._begin(trainer)

    def on_end(self, trainer: Trainer, reason: str) -> None:
        if self._profile is not None and trainer.state.step > self._begun and reason != "failed":
            self._finish(trainer)
        elif self._profile is not None:
            self._stop()

    def _begin(self, trainer: Trainer) -> None:
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # hide its start and stop messages
        from torch.profiler import ProfilerActivity, profile

        self._ranges.enter(trainer)
        self._profile = profile(activities=[ProfilerActivity.CPU], record_shapes=True)
        self._profile.start()
        self._begun, self._started = trainer.state.step, time.perf_counter()

    def _stop(self) -> tuple[profile, float]:
        assert self._profile is not None
        taken, seconds = self._profile, time.perf_counter() - self._started
        self._profile = None
        self._ranges.leave()
        taken.stop()
        return taken, seconds

    def _finish(self, trainer: Trainer) -> None:
        taken, seconds = self._stop()
        breakdown = break_down(taken.events() or (), trainer.state.step - self._begun, seconds)
        summary = record_of(breakdown, first_step=self._begun + 1)

        def fill(folder: Path) -> None:
            taken.export_chrome_trace(str(folder / TRACE))
            (folder / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")

        folder = trainer.run.path / FOLDER
        atomic.write_folder(folder, fill)
        show(breakdown, self.console, folder)


def record_of(breakdown: Breakdown, first_step: int) -> dict[str, Any]:
    """As plain values, with shares of the step."""
    parts = [
        {**asdict(part), "seconds": part.seconds, "share": part.seconds / breakdown.seconds}
        for part in breakdown.parts
    ]
    operators = [
        {**asdict(operator), "share": operator.seconds / breakdown.seconds}
        for operator in breakdown.operators
    ]
    return {
        "first_step": first_step,
        "num_steps": breakdown.num_steps,
        "seconds_per_step": breakdown.seconds,
        "parts": parts,
        "operators": operators,
    }


def show(breakdown: Breakdown, console: Console | None, folder: Path) -> None:
    """Two tables on a terminal, tab-separated lines elsewhere."""
    each = breakdown.seconds
    parts = [
        (
            part.part,
            _ms(part.forward),
            _ms(part.backward),
            _ms(part.seconds),
            f"{part.seconds / each:.1%}",
            f"{part.calls:,.0f}",
        )
        for part in breakdown.parts
    ]
    operators = [
        (
            found.name,
            found.part,
            _ms(found.seconds),
            f"{found.seconds / each:.1%}",
            f"{found.calls:,.0f}",
            found.shapes,
        )
        for found in breakdown.operators
    ]
    title = (
        f"where the time went, by part: {each * 1e3:,.0f} ms a step over {breakdown.num_steps} steps "
        "(profiling slows them)"
    )
    _print(console, title, ("part", "forward ms", "backward ms", "ms", "share", "calls"), parts)
    _print(
        console,
        "the slowest operators, by their own time",
        ("operator", "part", "ms", "share", "calls", "shapes"),
        operators,
    )
    _print_line(console, f"trace: {folder / TRACE} (open it in ui.perfetto.dev or chrome://tracing)")


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f}"


def _print(
    console: Console | None, title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]
) -> None:
    _print_line(console, title)
    if console is None:
        for row in (columns, *rows):
            _print_line(None, "\t".join(row))
        return
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        words = name in ("part", "operator", "shapes")
        table.add_column(
            name, justify="left" if words else "right", no_wrap=name != "shapes", overflow="fold"
        )
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _print_line(console: Console | None, line: str) -> None:
    if console is None:
        print(line, flush=True)
    else:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
