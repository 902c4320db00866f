"""somelab prepare: read text, train its tokenizer and store the tokens, before training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from somelab.cli.choice import Choice
from somelab.cli.models.train import DEFAULT_PRESET


@dataclass(frozen=True)
class Arguments(Choice):
    """Prepare the data of a configuration. `train` does it automatically; this does it ahead, and prints the
    numbers."""

    preset: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="PRESET", help_behavior_hint="")
    ] = None
    """Which preset's data; `somelab presets` lists them."""
    data: Annotated[str | None, tyro.conf.arg(metavar="DATA", help_behavior_hint="")] = None
    """The data: builtin, a .txt/.jsonl/.parquet file or folder, tinystories, or a Hub dataset."""
    json: bool = False
    """Print JSON."""


def run(arguments: Arguments) -> None:
    from dataclasses import replace

    from somelab.cli.summary import progress_printer
    from somelab.cli.terminal import console, print_json
    from somelab.data.prepare import prepare
    from somelab.training.session import data_facts

    overrides = {
        **arguments.overrides,
        **({"data.source": arguments.data} if arguments.data is not None else {}),
    }
    named = arguments.preset or (None if arguments.config else DEFAULT_PRESET)
    chosen = replace(arguments, overrides=overrides).resolve(named)
    facts = data_facts(prepare(chosen.config, progress=progress_printer()))
    if arguments.json:
        print_json(facts)
        return
    for name, value in facts.items():
        console().print(
            f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}", soft_wrap=True
        )
