"""somelab eval: measure a trained run, on its own validation text or on any other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from somelab.config import Config
from somelab.config.files import override
from somelab.errors import ConfigError


@dataclass(frozen=True)
class Arguments:
    """Measure a trained run."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """Other text to read, with the run's own tokenizer. Without it: the run's validation text."""
    checkpoint: str = "last"
    """Which checkpoint: last or best."""
    temperature: Annotated[float | None, tyro.conf.arg(metavar="T", help_behavior_hint="")] = None
    """Temperature of the gates. Without it: what the run's configuration says for evaluation."""
    seq_len: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Length of the sequences, if not the trained one; beyond it only with RoPE or ALiBi."""
    json: bool = False
    """Print JSON."""


def run(arguments: Arguments) -> None:
    from somelab.cli.summary import print_evaluation, progress_printer
    from somelab.cli.terminal import print_json
    from somelab.data.prepare import prepare, prepare_with
    from somelab.runs import RunFolder
    from somelab.runs.trained import load_trained
    from somelab.train.evaluate import evaluate, validation, with_seed_loss
    from somelab.train.precision import resolve
    from somelab.train.process import prepare_process

    prepare_process()
    settings: dict[str, str] = {}
    if arguments.temperature is not None:
        settings["router.eval_temperature"] = str(arguments.temperature)
    folder = RunFolder.open(arguments.run)
    trained = load_trained(folder, arguments.checkpoint, settings=settings)
    config = trained.config
    if arguments.seq_len is not None:
        config = at_length(config, arguments.seq_len)
    if arguments.data is None:
        data = prepare(config, progress=progress_printer())
        folder.check_data(data.digest)
    else:
        config = config.model_copy(update={"data": config.data.model_copy(update={"source": arguments.data})})
        data = prepare_with(trained.tokenizer, config, progress=progress_printer(), whole=True)
    dtype = resolve(config.train.precision, next(trained.model.parameters()).device)
    measured = evaluate(trained.model, validation(data, config), dtype=dtype)
    measured = with_seed_loss(measured, trained.model, data, config, dtype=dtype)
    record = {
        "run": str(folder.path),
        "checkpoint": arguments.checkpoint,
        "step": trained.state.step,
        "data": config.data.source,
        "gate_temperature": config.router.eval_temperature or config.router.temperature,
        **measured.record(),
        "seed_ppl_counts": f"padding to {config.model.seq_len} tokens, as v1-v4 of the seeds did; here it is "
        + ("predicted by the model" if config.data.padding_in_loss else "taken as free: the model was not trained on it"),
    }
    print_json(record) if arguments.json else print_evaluation(record)


def at_length(config: Config, seq_len: int) -> Config:
    """The configuration for reading sequences of another length; a sinusoid does not carry beyond the trained one."""
    if seq_len > config.model.seq_len and config.model.part("positions") not in ("rope", "alibi"):
        positions = config.model.part("positions")
        problem = f"is beyond the trained {config.model.seq_len}, which {positions} positions do not carry"
        raise ConfigError("--seq-len", seq_len, problem, "train with model.positions rope or alibi, or choose less")
    return override(config, {"model.seq_len": str(seq_len)})
