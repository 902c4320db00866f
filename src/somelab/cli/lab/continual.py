"""somelab continual: kinds of text one after another, and what each learner gains and forgets on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro


@dataclass(frozen=True)
class Arguments:
    """Learn experiences one after another, with learners that use gradients and learners that do not. With
    --out, the same command goes on where it was killed."""

    stream: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="STREAM")]
    """builtin (all its kinds, in order), builtin:story,recipe, or two or more files, one experience each."""
    learners: Annotated[str | None, tyro.conf.arg(metavar="NAME,...", help_behavior_hint="")] = None
    """Which learners: some-keys, some-memory (no gradient), some-keys+query, some-all, dense, dense-ewc,
    dense-superposition, dense-replay, dense-adapters (oracle labels), joint (all mixed: the bound). Without
    it: all."""
    tune: bool = False
    """Search the best learning rate of each base and each learner first, on text and a random seed that judge
    nothing."""
    scale: Literal["mini", "micro"] = "micro"
    """Size of the models."""
    seeds: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Number of random seeds."""
    first_seed: Annotated[int, tyro.conf.arg(metavar="N")] = 0
    """The first of them; the others follow."""
    recorded_rates: bool = False
    """Use the learning rates on record for this stream, instead of a search."""
    tokens: Annotated[int, tyro.conf.arg(metavar="N")] = 100_000
    """Training tokens of each experience."""
    eval_tokens: Annotated[int, tyro.conf.arg(metavar="N")] = 16_384
    """Validation tokens of each experience, at every evaluation."""
    from_scratch: bool = False
    """Learn the first experience like the others, instead of starting from a base trained on it."""
    workers: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None
    """Parallel learners. Without it: one per core, with one thread each."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Keep bases, results and tables here. Without it: nothing is kept."""
    record: bool = False
    """Put the study on record in the package: `somelab evidence --list` shows the verdicts that follow."""
    label: Annotated[str | None, tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = None
    """With --record: beside the stream's own study; fresh (other random seeds) or large (larger models)."""
    json: bool = False
    """Print JSON."""
    overrides: tyro.conf.Suppress[dict[str, str]] = field(default_factory=dict)


def run(arguments: Arguments) -> int:
    import tempfile
    from contextlib import nullcontext

    from somelab.adapt.continual.learners import LEARNERS
    from somelab.cli.lab.sweep import print_table, print_where
    from somelab.cli.summary import progress_printer
    from somelab.cli.terminal import print_json
    from somelab.experiments.streams.plan import StreamSettings
    from somelab.experiments.streams.study import run_study

    rates: dict[str, float] = {}
    if arguments.record or arguments.recorded_rates:
        from somelab.adapt.continual.stream import names_of
        from somelab.experiments.streams.records import rates_of, stream_of, study_name

        stream = stream_of(" > ".join(name for name, _ in names_of(arguments.stream)))
        study_name(stream, arguments.label)
        rates = rates_of(stream) if arguments.recorded_rates else {}
    requested = arguments.learners
    settings = StreamSettings(
        stream=arguments.stream,
        learners=tuple(LEARNERS)
        if requested is None
        else tuple(name.strip() for name in requested.split(",") if name.strip()),
        scale=arguments.scale,
        num_seeds=arguments.seeds,
        first_seed=arguments.first_seed,
        rates=rates,
        tokens=arguments.tokens,
        eval_tokens=arguments.eval_tokens,
        from_scratch=arguments.from_scratch,
        tune=arguments.tune,
        changes=dict(arguments.overrides),
    )
    with tempfile.TemporaryDirectory() if arguments.out is None else nullcontext(arguments.out) as folder:
        result = run_study(settings, Path(folder), num_workers=arguments.workers, report=progress_printer())
        seconds = result.cpu_seconds
    if arguments.record and result.summary:
        from somelab.experiments.streams import records

        tokens, bases = result.summary["tokens_per_experience"], result.summary["bases"]
        records.record(result.plan, result.rows, tokens, bases, label=arguments.label)
    if arguments.json:
        print_json({**result.summary, "cpu_seconds": seconds})
        return result.exit_code
    print_table(result.plan, result.rows)
    print("CPU seconds of a run: " + ", ".join(f"{name} {found:.0f}" for name, found in seconds.items()))
    if arguments.out is not None:
        print_where(arguments.out)
    return result.exit_code
