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
    dense-replay, joint (all mixed: the bound). Without it: all."""
    scale: Literal["mini", "micro"] = "micro"
    """Size of the models."""
    seeds: Annotated[int, tyro.conf.arg(metavar="N")] = 1
    """Number of random seeds."""
    tokens: Annotated[int, tyro.conf.arg(metavar="N")] = 100_000
    """Training tokens of each experience."""
    eval_tokens: Annotated[int, tyro.conf.arg(metavar="N")] = 16_384
    """Validation tokens of each experience, at every evaluation."""
    from_scratch: bool = False
    """Learn the first experience like the others, instead of starting from a base trained on it."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None
    """Keep bases, results and tables here. Without it: nothing is kept."""
    json: bool = False
    """Print JSON."""
    overrides: tyro.conf.Suppress[dict[str, str]] = field(default_factory=dict)


def run(arguments: Arguments) -> None:
    import sys
    import tempfile
    from contextlib import nullcontext

    from somelab.adapt.continual.learners import LEARNERS
    from somelab.adapt.continual.session import StudySettings, run_study
    from somelab.training.machine.process import prepare_process

    requested = arguments.learners
    plan = StudySettings(
        stream=arguments.stream,
        learners=tuple(LEARNERS)
        if requested is None
        else tuple(name.strip() for name in requested.split(",") if name.strip()),
        scale=arguments.scale,
        num_seeds=arguments.seeds,
        tokens=arguments.tokens,
        eval_tokens=arguments.eval_tokens,
        from_scratch=arguments.from_scratch,
        changes=dict(arguments.overrides),
    )
    with tempfile.TemporaryDirectory() if arguments.out is None else nullcontext(arguments.out) as folder:
        prepare_process()
        results = run_study(plan, Path(folder), progress=lambda message: print(message, file=sys.stderr))
        _present(results, arguments)


def _present(results: list[dict[str, object]], arguments: Arguments) -> None:
    import json

    from somelab.adapt.continual.tables import HEADER, as_csv, markdown, rows_of_summary, summarise
    from somelab.cli.terminal import console, print_json, table
    from somelab.disk import atomic

    summary = summarise(results)
    if arguments.out is not None:
        atomic.write_text(
            arguments.out / "summary.json", json.dumps({**summary, "results": results}, indent=1)
        )
        atomic.write_text(arguments.out / "summary.md", markdown(summary))
        atomic.write_text(arguments.out / "summary.csv", as_csv(summary))
    if arguments.json:
        print_json({**summary, "results": results})
        return
    out = console()
    out.print(
        f"{' > '.join(summary['experiences'])}, {summary['tokens_per_experience']:,} tokens each; nats per "
        "token\n",
        soft_wrap=True,
    )
    shown = table(*HEADER, numbers=HEADER[1:])
    for row in rows_of_summary(summary):
        shown.add_row(*row)
    out.print(shown)
    out.print(
        "lower is better, but for the transfers; forgetting: the largest rise of an experience above its "
        "best",
        style="dim",
    )
    if arguments.out is not None:
        out.print(f"tables: {arguments.out}/summary.md, .csv, .json", soft_wrap=True)
