"""Terminal output of a sweep: in a terminal a bar and a row per running job, elsewhere a line per job that
ended. Both show an estimate of the time left."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from somelab.experiments.runner.estimate import Size, seconds_of, share_done
from somelab.experiments.runner.job import JobOutcome
from somelab.experiments.runner.plan import Job
from somelab.training.callbacks.views import duration

SECONDS_BETWEEN_DRAWINGS = 1.0


class Eta:
    """Work done against time passed, with the estimated seconds of each job as its weight."""

    def __init__(self, sizes: Mapping[tuple[str, int], Size]) -> None:
        self.sizes = dict(sizes)
        self.weights = {key: seconds_of(size) for key, size in sizes.items()}
        self.total = sum(self.weights.values())
        self.before: dict[tuple[str, int], float] = {}
        self.done = 0.0
        self.started = time.monotonic()

    def add(self, sizes: Mapping[tuple[str, int], Size]) -> None:
        """More work, perhaps a further part of a job that was paused."""
        self.sizes.update(sizes)
        self.weights.update({key: seconds_of(size) for key, size in sizes.items()})
        self.total += sum(self.weights[key] for key in sizes)

    def begin(self, job: Job) -> None:
        """Work done by an earlier call is not counted for the speed."""
        self.before[job.key] = share_done(job, self.sizes[job.key])

    def end(self, outcome: JobOutcome) -> None:
        key = outcome.arm, outcome.seed
        self.done += self.weights[key] * (1 - self.before.get(key, 0.0))

    def seconds_left(self, running: list[Job], now: float | None = None) -> float | None:
        """None until the speed is known."""
        shares = {job.key: share_done(job, self.sizes[job.key]) for job in running}
        partly = sum(
            self.weights[key] * max(0.0, share - self.before.get(key, 0.0)) for key, share in shares.items()
        )
        credit = sum(self.weights[key] * share for key, share in self.before.items())
        done, passed = self.done + partly, (time.monotonic() if now is None else now) - self.started
        if done <= 0.01 * self.total:
            return None
        return max(0.0, self.total - credit - done) * passed / done


class PlainProgress:
    """A line per job that ended: for logs and pipes."""

    def __init__(self, num_jobs: int, num_before: int, eta: Eta, console: Console | None = None) -> None:
        self.num_jobs, self.num_ended, self.eta = num_jobs, num_before, eta
        self.console = console or Console(highlight=False, width=160)

    def __enter__(self) -> PlainProgress:
        if self.num_ended:
            self.print_line(f"{self.num_ended} of {self.num_jobs} runs are finished already")
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def print_line(self, line: str) -> None:
        self.console.print(line, markup=False, soft_wrap=True)

    def add(self, sizes: Mapping[tuple[str, int], Size]) -> None:
        self.num_jobs += len(sizes)
        self.eta.add(sizes)

    def begin(self, job: Job) -> None:
        self.eta.begin(job)

    def wait(self, job: Job) -> None:
        self.print_line(f"{job.label}: another process is at it; it is looked at again later")

    def tick(self, running: list[Job]) -> None:
        pass

    def end(self, outcome: JobOutcome, figure: str, running: list[Job]) -> None:
        """`figure`: what came out, in a few words."""
        self.eta.end(outcome)
        self.num_ended += outcome.status != "interrupted"
        self.print_line(self.line(outcome, figure, running))

    def line(self, outcome: JobOutcome, figure: str, running: list[Job]) -> str:
        left = self.eta.seconds_left(running) if self.num_ended < self.num_jobs else None
        ways = {"finished": figure, "paused": f"paused, {figure}", "interrupted": "stopped and saved"}
        result = ways.get(outcome.status, f"failed: {outcome.reason}")
        remaining = (
            "" if left is None or outcome.status == "interrupted" else f"; about {duration(left)} left"
        )
        return f"[{self.num_ended}/{self.num_jobs}] {outcome.arm} seed {outcome.seed}: {result}{remaining}"


class LiveProgress(PlainProgress):
    """A panel that stays in place, with the same lines above it."""

    def __init__(self, num_jobs: int, num_before: int, eta: Eta, console: Console) -> None:
        super().__init__(num_jobs, num_before, eta, console)
        self.live = Live(console=console, auto_refresh=False, transient=True)
        self.last_drawing = 0.0

    def __enter__(self) -> PlainProgress:
        self.live.start()
        return super().__enter__()

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    def tick(self, running: list[Job]) -> None:
        if time.monotonic() - self.last_drawing > SECONDS_BETWEEN_DRAWINGS:
            self.last_drawing = time.monotonic()
            self.live.update(self._panel(running), refresh=True)

    def _panel(self, running: list[Job]) -> RenderableType:
        left = self.eta.seconds_left(running)
        words = f"{self.num_ended} of {self.num_jobs} runs" + (
            "" if left is None else f"   about {duration(left)} left"
        )
        rows = Table.grid(padding=(0, 1))
        rows.add_row(
            "all",
            ProgressBar(total=self.num_jobs, completed=self.num_ended, width=36),
            Text(words, style="dim"),
        )
        for job in running:
            share = share_done(job, self.eta.sizes[job.key])
            rows.add_row(
                job.label, ProgressBar(total=1, completed=share, width=36), Text(f"{share:.0%}", style="dim")
            )
        return Group(rows, Text("Ctrl-C saves and stops; the same command continues", style="dim"))


def progress_view(num_jobs: int, num_before: int, eta: Eta) -> PlainProgress:
    """The live panel in a terminal, plain lines elsewhere. On standard error: the table, or JSON, follows on
    standard output."""
    console = Console(highlight=False, stderr=True)
    if console.is_terminal:
        return LiveProgress(num_jobs, num_before, eta, console)
    return PlainProgress(num_jobs, num_before, eta, console)
