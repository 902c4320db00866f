"""Terminal output while the two models of the demo train: a panel in a terminal, a line per evaluation
elsewhere."""

from __future__ import annotations

import time

from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from somelab.cli.demo.pair import Learner, Pair
from somelab.cli.terminal import console
from somelab.training.callbacks.views import duration

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_AFTER = 15.0
"""For the last evaluation and the page, in the estimate of the time left."""


def watch(pair: Pair, seconds: float) -> None:
    """Show both until both have ended. `seconds`: how long each trains."""
    out = console()
    if not out.is_terminal:
        while pair.is_running():
            _print_news(pair)
            time.sleep(SECONDS_BETWEEN_LOOKS)
        _print_news(pair)
        return
    with Live(console=out, auto_refresh=False, transient=True) as live:
        while pair.is_running():
            for learner in pair.learners:
                learner.look()
            live.update(panel(pair.learners, seconds), refresh=True)
            time.sleep(SECONDS_BETWEEN_LOOKS)
    for learner in pair.learners:
        learner.look()


def _print_news(pair: Pair) -> None:
    for learner in pair.learners:
        if learner.look() and learner.evaluation is not None:
            print(
                f"{learner.label}: validation loss {learner.evaluation['val_loss']:.3f} "
                f"after {learner.tokens:,} tokens",
                flush=True,
            )


def panel(learners: tuple[Learner, Learner], seconds: float) -> RenderableType:
    """A row for each model, and what the first writes by now."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    for learner in learners:
        share = min(1.0, learner.seconds / seconds)
        loss = "…" if learner.loss is None else f"{learner.loss:.2f}"
        rows.add_row(
            f"  {learner.label}",
            ProgressBar(total=1, completed=share, width=30),
            Text.assemble(("loss ", "dim"), (loss, "bold")),
            Text.assemble(("tokens ", "dim"), f"{learner.tokens:,}"),
        )
    left = max(0.0, seconds - min(learner.seconds for learner in learners)) + SECONDS_AFTER
    first = learners[0]
    parts: list[RenderableType] = [rows]
    if first.text:
        parts += [Text(f"\n  {first.label} writes by now:", style="dim")]
        parts += [Padding(Text(first.text, style="cyan"), (0, 4, 0, 4))]
    parts.append(Text(f"\n  about {duration(left)} left   Ctrl-C saves and stops", style="dim"))
    return Group(*parts)
