"""Dotted settings on a command line (`--experts.top-k 8`), taken out before the verb's own flags are read.
They are only collected here; `somelab.config.override` reads and validates them, exactly as it does for
files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from somelab.errors import SomelabError

if TYPE_CHECKING:
    from somelab.config.fields import Field

SETTING = re.compile(r"--([A-Za-z_-]+\.[A-Za-z0-9_.-]+)(?:=(.*))?", re.DOTALL)
NUMBER = re.compile(r"-[0-9.].*")
TRUTH = {"true", "false", "yes", "no", "on", "off", "null", "None"}

EPILOGUE = """\
Any setting can be given by its dotted name, with the same checks as in a file; it is put in after
the scale. A switch may stand alone, a list is written with commas:
  --experts.top-k 8   --experts.top_k=8   --train.compile   --gravity.beta-layers 1,0.5
  --router.eval-temperature null
Giving one of train.epochs, train.steps and train.minutes takes the place of the other two, and
gravity.theta that of gravity.theta_percentile. `somelab show --fields` explains every setting."""


def split_overrides(argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The arguments without the dotted settings, and those by name. Of two equal names the last counts.

    >>> split_overrides(["a1", "--experts.top-k", "8", "--train.compile", "--json"])
    (['a1', '--json'], {'experts.top-k': '8', 'train.compile': 'true'})
    """
    rest: list[str] = []
    settings: dict[str, str] = {}
    waiting = list(argv)
    while waiting:
        token = waiting.pop(0)
        if token == "--":
            return [*rest, token, *waiting], settings
        match = SETTING.fullmatch(token)
        if match is None:
            rest.append(token)
            continue
        from somelab.config.fields import fields  # a verb without settings needs none of the configuration

        name, value = match.groups()
        field = fields().get(name.replace("-", "_"))
        if value is None and waiting and _is_value(waiting[0], field):
            value = waiting.pop(0)
        if value is None and field is not None and field.base is not bool:
            raise SomelabError(f"--{name} has no value; {field.remedy}, e.g. --{name} {_example(field)}")
        settings[name] = "true" if value is None else value
    return rest, settings


def _is_value(token: str, field: Field | None) -> bool:
    """Whether the token after a setting is its value. A switch (`--train.compile a1`) takes only a truth
    value."""
    if field is not None and field.base is bool:
        return token in TRUTH
    return not token.startswith("-") or NUMBER.fullmatch(token) is not None


def _example(field: Field) -> str:
    if field.choices:
        return field.choices[0]
    default = field.default
    if isinstance(default, dict):
        return "'{my_rule: 0.1}'"
    if isinstance(default, tuple):
        return ",".join(str(part).lower() for part in default)
    return "1" if default is None else str(default)
