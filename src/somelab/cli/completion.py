"""Shell completion: a script of all verbs and their flags, as tyro makes it for its programs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from somelab.cli.main import COMPLETION, VERBS
from somelab.errors import ConfigError, nearest

SHELLS = ("bash", "zsh")


def print_completion(argv: Sequence[str]) -> None:
    """Print the script for the shell that is named after the flag."""
    import tyro

    place = list(argv).index(COMPLETION)
    shell = argv[place + 1] if place + 1 < len(argv) else ""
    if shell not in SHELLS:
        raise ConfigError(COMPLETION, shell, "is not a shell that it is made for", nearest(shell, SHELLS))
    verbs: dict[str, Any] = {name: import_module(verb.module).Arguments for name, verb in VERBS.items()}
    with contextlib.suppress(SystemExit):  # which is how tyro ends after it has printed the script
        tyro.extras.subcommand_cli_from_dict(
            verbs, prog="somelab", args=[COMPLETION, shell], config=(tyro.conf.FlagCreatePairsOff,)
        )
