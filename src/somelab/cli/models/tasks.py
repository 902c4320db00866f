"""somelab eval --tasks: the results of tasks as a table or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.cli.models.evaluate import Arguments

ERROR = "_stderr"


def run_tasks(arguments: Arguments, settings: Mapping[str, Any]) -> None:
    """Measure a run on tasks and print the results."""
    from somelab.cli.terminal import console, print_json, table
    from somelab.interop.evaluation.harness import evaluate_tasks
    from somelab.runs import RunFolder
    from somelab.runs.trained import load_trained

    if arguments.tasks is None:
        raise ConfigError("--limit", arguments.limit, "limits tasks", "add --tasks, or leave it out")
    if arguments.data is not None or arguments.seq_len is not None:
        given = "--data" if arguments.data is not None else "--seq-len"
        raise ConfigError("--tasks", arguments.tasks, "have text of their own", f"leave {given} out")
    trained = load_trained(RunFolder.open(arguments.run), arguments.checkpoint, settings=settings)
    found = evaluate_tasks(trained, arguments.tasks.split(","), arguments.limit)
    if arguments.json:
        print_json({"run": str(arguments.run), "step": trained.state.step, "tasks": found})
        return
    shown = table(
        "task", "metric", "value", "+-", "chance", "items", numbers=("value", "+-", "chance", "items")
    )
    for task, record in found.items():
        beside = {"num_items", "chance", *(name for name in record if name.endswith(ERROR))}
        for metric in (name for name in record if name not in beside):
            error = record.get(f"{metric}{ERROR}")
            shown.add_row(
                task,
                metric,
                f"{record[metric]:.3f}",
                "" if error is None else f"{error:.3f}",
                f"{record['chance']:.2f}" if "chance" in record else "",
                str(record.get("num_items", "")),
            )
    console().print(shown)
