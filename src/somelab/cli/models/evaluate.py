"""somelab eval: measure a trained run, on its own validation text or on any other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Arguments:
    """Measure a trained run."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """Other text, encoded by the run's tokenizer. Without it: the run's validation text."""
    checkpoint: str = "last"
    """Which checkpoint: last, best, or a step that is kept, such as 200."""
    temperature: Annotated[float | None, tyro.conf.arg(metavar="T", help_behavior_hint="")] = None
    """Temperature of the gates. Without it: the run's evaluation temperature."""
    seq_len: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Length of the sequences, if not the trained one; beyond it only with RoPE or ALiBi."""
    tasks: Annotated[str | None, tyro.conf.arg(metavar="LIST", help_behavior_hint="")] = None
    """Instead of text: tasks of the lm-evaluation-harness, such as story,word_class, which ship with
    somelab."""
    limit: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """With --tasks: only the first N items of each."""
    json: bool = False
    """Print JSON."""


def run(arguments: Arguments) -> None:
    from somelab.cli.summary import print_evaluation, progress_printer
    from somelab.cli.terminal import print_json
    from somelab.library.language_model import load
    from somelab.training.machine.process import prepare_process

    prepare_process()
    settings = (
        {} if arguments.temperature is None else {"router.eval_temperature": str(arguments.temperature)}
    )
    if arguments.tasks is not None or arguments.limit is not None:
        from somelab.cli.models.tasks import run_tasks

        run_tasks(arguments, settings)
        return
    trained = load(arguments.run, arguments.checkpoint, settings=settings)
    measured = trained.evaluate(arguments.data, seq_len=arguments.seq_len, progress=progress_printer())
    config = trained.config
    seq_len = arguments.seq_len or config.model.seq_len
    record = {
        "run": str(trained.path),
        "checkpoint": arguments.checkpoint,
        "step": trained.step,
        "data": arguments.data or config.data.source,
        "gate_temperature": config.router.eval_temperature or config.router.temperature,
        **measured.record(),
        "ppl_with_padding_counts": f"padding to {seq_len} tokens, as in v1-v4 of the reports; here it is "
        + (
            "predicted by the model"
            if config.data.padding_in_loss
            else "counted as 0: the model was not trained on it"
        ),
    }
    print_json(record) if arguments.json else print_evaluation(record)
