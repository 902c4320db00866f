"""The summary of a run in a terminal: results, layer by layer, and the next commands."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from somelab.cli.terminal import console, say, table

if TYPE_CHECKING:
    from somelab.runs import RunFolder
    from somelab.training.loop import Outcome

INTERRUPTED = 130  # the shell's code for Ctrl-C
FIGURES = (
    ("val_loss", "nats per token, padding left out", ".4f"),
    ("val_ppl", "its exponential", ".2f"),
    ("bits_per_byte", "comparable across tokenizers", ".4f"),
    ("ppl_with_padding", "padding included, as in v1-v4 of the reports", ".2f"),
)


def progress_printer() -> Callable[[str, int], None]:
    """Reports progress of data preparation on stderr, so that results can be piped: each activity once, then
    at every doubling."""
    reported: dict[str, int] = {}

    def report(doing: str, num_documents: int) -> None:
        if doing not in reported or num_documents >= 2 * max(500, reported[doing]):
            reported[doing] = num_documents
            print(f"{doing} ({num_documents:,} documents)" if num_documents else doing, file=sys.stderr)

    return report


def conclude(run: RunFolder, outcome: Outcome) -> int:
    """The end of `train` and `resume`: the result, and the exit code, which is not 0 for a run that was
    stopped."""
    interrupted = outcome.reason == "interrupted"
    if outcome.is_first and interrupted:
        step = outcome.state.step
        path = shlex.quote(str(run.path))
        console().print(
            f"stopped after step {step:,}; saved. Continue with: somelab resume {path}", soft_wrap=True
        )
    elif outcome.is_first:
        _print_end(run, outcome)
    return INTERRUPTED if interrupted else 0


def _print_end(run: RunFolder, outcome: Outcome) -> None:
    out = console()
    assert outcome.evaluation is not None
    out.print("")
    print_evaluation(outcome.evaluation.record())
    path, samples = shlex.quote(str(run.path)), run.records("samples")
    if samples:
        prompt, text = samples[-1]["prompt"], samples[-1]["text"]
        out.print(Text.assemble("\n", ("a sample: ", "bold"), (prompt, "dim"), text[len(prompt) :]))
    out.print(f"\nrun folder: {run.path}\nnext:", soft_wrap=True)
    if samples:
        words = shlex.quote(" ".join(samples[-1]["prompt"].split()[:4]))
        out.print(f"  somelab generate {path} --prompt {words} --trace", soft_wrap=True)
    out.print(f"  somelab report {path}", soft_wrap=True)
    out.print(f"  somelab serve {path}", soft_wrap=True)


def print_evaluation(record: dict[str, Any]) -> None:
    """The figures, a row per layer, and a sentence for each failure."""
    out = console()
    figures = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, meaning, form in FIGURES:
        if record.get(name) is not None:
            figures.add_row(name, Text(f"{record[name]:{form}}", style="bold"), Text(meaning, style="dim"))
    figures.add_row("tokens", f"{record['num_tokens']:,}", Text("read for this", style="dim"))
    out.print(figures)
    if record.get("layers"):
        out.print("")
        out.print(_layers(record["layers"]))
        counted = f"All but crowding are counted over the {record['num_tokens']:,} tokens read."
        out.print(f"{LEGEND}\n{counted}", style="dim", highlight=False)
    for sentence in record.get("findings", ()):
        say(f"! {sentence}", style="yellow")


COLUMNS: dict[str, Callable[[dict[str, float]], str]] = {
    "Gini": lambda layer: f"{layer['gini']:.3f}",
    "entropy": lambda layer: f"{layer['entropy_bits']:.2f}",
    "effective": lambda layer: f"{layer['effective_experts']:.1f}",
    "dead": lambda layer: f"{layer['dead_share']:.0%}",
    "crowding": lambda layer: f"{layer['crowding']:.3f}",
    "gates": lambda layer: f"{layer['gate_entropy']:.3f}",
    "sets": lambda layer: f"{layer['num_combinations']:,.0f}",
    "set entropy": lambda layer: f"{layer['combination_entropy_bits']:.2f}",
}
LEGEND = """\
Gini 0: all experts are used alike; entropy of their use in bits, and how many
used alike would have it; dead: never chosen; crowding 1: keys have fused;
gates: entropy of a token's gates in nats; sets: distinct sets of experts that
tokens use, and the entropy of those in bits."""


def _layers(layers: list[dict[str, float]]) -> Table:
    shown = table("layer", *COLUMNS, numbers=("layer", *COLUMNS))
    for number, layer in enumerate(layers):
        shown.add_row(str(number), *(cell(layer) for cell in COLUMNS.values()))
    return shown
