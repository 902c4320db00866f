"""Terminal output of a training run: a live panel in a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from statistics import median
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from somelab.training.callbacks import Callback, StepRecord
from somelab.training.callbacks.recorders import LayerJournal
from somelab.training.evaluate import Evaluation

if TYPE_CHECKING:
    from somelab.training.loop import Trainer

BARS = "▁▂▃▄▅▆▇█"
HISTORY = 12
CURVE = 60
SECONDS_BETWEEN_LINES = 10.0
DRAWINGS = 3.0
"""Of the panel, in a second."""


def sparkline(values: list[float], low: float, high: float) -> str:
    """A row of bars; the range is given, so that rows can be compared."""
    span = max(high - low, 1e-12)
    return "".join(BARS[min(7, max(0, int((value - low) / span * 8)))] for value in values)


def duration(seconds: float) -> str:
    """12 s · 3 min 05 s · 2 h 07 min"""
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


class Pace:
    """Tokens per second over the last steps, how long evaluations take, and the estimated time left."""

    def __init__(self) -> None:
        self.steps: deque[StepRecord] = deque(maxlen=50)
        self.loss: float | None = None
        self.evaluations: deque[float] = deque(maxlen=5)
        """Seconds of the last ones, with the sample and the checkpoint that belong to each."""
        self.evaluating_since: float | None = None
        self.last_step = time.monotonic()

    def add(self, record: StepRecord) -> None:
        now = time.monotonic()
        if self.evaluating_since is not None:
            self.evaluations.append(max(0.0, now - self.evaluating_since - record.step_seconds))
            self.evaluating_since = None
        self.last_step = now
        self.steps.append(record)
        self.loss = record.loss if self.loss is None else 0.9 * self.loss + 0.1 * record.loss

    def begin_evaluation(self) -> None:
        self.evaluating_since = time.monotonic()

    @property
    def tokens_per_second(self) -> float:
        """The median, so that a pause of the machine does not count."""
        speeds = [record.step_tokens / record.step_seconds for record in self.steps if record.step_seconds]
        return median(speeds) if speeds else 0.0

    def left(self, trainer: Trainer) -> float | None:
        """Seconds to the end, evaluations included: by the clock for a time budget, else by the median
        step."""
        since = time.monotonic() - self.last_step if self.steps else 0.0
        evaluation = self._final_evaluation(trainer)
        if trainer.budget.seconds is not None:
            return max(0.0, trainer.budget.seconds - trainer.state.seconds - since) + evaluation
        if len(self.steps) < 3 or trainer.budget.steps is None:
            return None
        step = median(record.step_seconds for record in self.steps)
        steps = step * (trainer.budget.steps - trainer.state.step)
        return max(0.0, steps + self._evaluations(trainer) - since) + evaluation

    def _evaluations(self, trainer: Trainer) -> float:
        """Seconds of those that are still due before the last one."""
        steps, step, cadence = trainer.budget.steps, trainer.state.step, trainer.evaluations
        if not self.evaluations or steps is None:
            return 0.0
        if cadence.every is not None:
            num_left = (steps - 1) // cadence.every - step // cadence.every
        else:
            num_left = cadence.times - 1 - math.floor(step / steps * cadence.times)
        return max(0, num_left) * median(self.evaluations)

    def _final_evaluation(self, trainer: Trainer) -> float:
        """Seconds of the last one, which reads all of the validation text, packed and padded."""
        if not self.evaluations:
            return 0.0
        num_tokens = trainer.data.val.num_tokens
        read = min(trainer.config.train.eval_tokens or num_tokens, num_tokens)
        return median(self.evaluations) * 2 * num_tokens / max(1, read)


class PlainLines(Callback):
    """A line every ten seconds, at evaluations and at warnings: for logs and pipes."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, width=160)
        self.pace = Pace()
        self.last_line = 0.0

    def print_line(self, line: str) -> None:
        self.console.print(line, markup=False, soft_wrap=True)

    def on_step(self, trainer: Trainer, record: StepRecord) -> None:
        self.pace.add(record)
        now = time.monotonic()
        if record.step > 1 and now - self.last_line < SECONDS_BETWEEN_LINES:
            return
        self.last_line = now
        left = self.pace.left(trainer)
        total = f"/{trainer.budget.steps}" if trainer.budget.steps is not None else ""
        remaining = "" if left is None else f"  {duration(left)} left"
        self.print_line(
            f"step {record.step}{total}  loss {record.loss:.4f}  {self.pace.tokens_per_second:,.0f} "
            f"tokens/s{remaining}"
        )

    def on_evaluation_begin(self, trainer: Trainer, *, final: bool) -> None:
        self.pace.begin_evaluation()

    def on_evaluation(self, trainer: Trainer, evaluation: Evaluation, *, final: bool) -> None:
        self.print_line(
            f"step {trainer.state.step}  {'final ' if final else ''}val_loss {evaluation.val_loss:.4f}  "
            f"val_ppl {evaluation.val_ppl:.2f}  bits_per_byte {evaluation.bits_per_byte:.4f}"
        )

    def on_warning(self, trainer: Trainer, sentence: str) -> None:
        self.print_line(f"warning: {sentence}")


class LivePanel(Callback):
    """One panel that stays in place: progress, loss, speed, a row per layer, the last warnings. A thread
    draws it, so that it also moves while an evaluation takes its time."""

    def __init__(self, layers: LayerJournal, console: Console | None = None) -> None:
        self.layers = layers
        self.console = console or Console()
        self.live: Live | None = None
        self.pace = Pace()
        self.losses: deque[float] = deque(maxlen=2000)
        self.history: deque[list[dict[str, float]]] = deque(maxlen=HISTORY)
        self.evaluation: Evaluation | None = None
        self.warnings: deque[str] = deque(maxlen=3)
        self.ended = False
        self.lock = threading.Lock()
        """Held by whoever changes or draws the figures."""

    def on_start(self, trainer: Trainer) -> None:
        self.live = Live(
            console=self.console, refresh_per_second=DRAWINGS, get_renderable=lambda: self._drawn(trainer)
        )
        self.live.start(refresh=True)

    def on_step(self, trainer: Trainer, record: StepRecord) -> None:
        with self.lock:
            self.pace.add(record)
            self.losses.append(record.loss)
            if self.layers.latest and (not self.history or self.history[-1] is not self.layers.latest):
                self.history.append(self.layers.latest)

    def on_evaluation_begin(self, trainer: Trainer, *, final: bool) -> None:
        with self.lock:
            self.pace.begin_evaluation()

    def on_evaluation(self, trainer: Trainer, evaluation: Evaluation, *, final: bool) -> None:
        with self.lock:
            self.evaluation = evaluation

    def on_warning(self, trainer: Trainer, sentence: str) -> None:
        with self.lock:
            self.warnings.append(sentence)

    def on_end(self, trainer: Trainer, reason: str) -> None:
        self.ended = True
        if self.live is not None:
            self.live.stop()

    def _drawn(self, trainer: Trainer) -> RenderableType:
        with self.lock:
            return self._panel(trainer)

    def _panel(self, trainer: Trainer) -> RenderableType:
        parts: list[RenderableType] = [self._progress(trainer), self._figures(trainer)]
        if self.losses:
            every = -(-len(self.losses) // CURVE)
            curve = list(self.losses)[::every]
            low, high = min(curve), max(curve)
            parts.append(
                Text.assemble(
                    "  ",
                    (sparkline(curve, low, high), "cyan"),
                    (f"  {high:.2f} → {self.losses[-1]:.2f}", "dim"),
                )
            )
        if self.history:
            parts += [self._layers(trainer), self._legend(trainer)]
        # Lines after the first keep the margin.
        parts += [Padding(Text(f"! {warning}", style="yellow"), (0, 2)) for warning in self.warnings]
        hint = "" if self.ended else "   Ctrl-C saves and stops"
        parts.append(Text(f"  {trainer.run.path}{hint}", style="dim", no_wrap=True, overflow="ellipsis"))
        return Group(*parts)

    def _progress(self, trainer: Trainer) -> RenderableType:
        share = trainer.budget.progress(trainer.state.step, trainer.state.seconds)
        left = self.pace.left(trainer)
        total = "" if trainer.budget.steps is None else f" of {trainer.budget.steps:,}"
        remaining = "" if left is None or self.ended else f"   {duration(left)} left"
        if self.pace.evaluating_since is not None and not self.ended:
            remaining += f"   evaluating, {time.monotonic() - self.pace.evaluating_since:.0f} s"
        grid = Table.grid(padding=(0, 1))
        words = Text(f"step {trainer.state.step:,}{total}{remaining}", style="dim")
        grid.add_row(f" {share:4.0%}", ProgressBar(total=1, completed=share, width=36), words)
        return grid

    def _figures(self, trainer: Trainer) -> RenderableType:
        figures = [("loss", f"{self.pace.loss:.3f}" if self.pace.loss is not None else "…")]
        if self.evaluation is not None:
            figures += [
                ("val_ppl", f"{self.evaluation.val_ppl:.2f}"),
                ("bits/byte", f"{self.evaluation.bits_per_byte:.3f}"),
            ]
        figures.append(("tokens/s", f"{self.pace.tokens_per_second:,.0f}"))
        if trainer.config.gravity.respawn:
            figures.append(("respawns", f"{sum(int(layer['respawns']) for layer in self.layers.latest):,}"))
        text = Text("  ")
        for name, value in figures:
            text.append(f"{name} ", style="dim").append(value, style="bold").append("   ")
        return text

    def _layers(self, trainer: Trainer) -> RenderableType:
        most = math.log2(trainer.config.experts.num_experts)
        table = Table(box=None, padding=(0, 1), header_style="dim", pad_edge=True)
        for column in ("layer", "Gini", f"entropy, of {most:.1f} bits", "crowding", "gate entropy"):
            table.add_column(column)
        for number, latest in enumerate(self.history[-1]):
            gini = [layers[number]["gini"] for layers in self.history]
            entropy = [layers[number]["entropy_bits"] for layers in self.history]
            table.add_row(
                str(number),
                Text.assemble(f"{latest['gini']:.3f} ", (sparkline(gini, 0, 1), "magenta")),
                Text.assemble(f"{latest['entropy_bits']:.2f} ", (sparkline(entropy, 0, most), "green")),
                f"{latest['crowding']:.3f}",
                f"{latest['gate_entropy']:.3f}" if "gate_entropy" in latest else "",
            )
        return table

    def _legend(self, trainer: Trainer) -> RenderableType:
        top_k = trainer.config.experts.top_k
        weighing = f"   gate entropy {math.log(top_k):.3f}: equal gates" if top_k > 1 else ""
        return Text(f"  Gini 0: used equally   crowding 1: keys fused{weighing}", style="dim italic")
