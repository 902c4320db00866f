"""`somelab show`: a configuration as a YAML file for --config, or every setting explained."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from somelab.cli.choice import Choice, Chosen
from somelab.cli.terminal import console, print_json, table
from somelab.config import digest, to_yaml
from somelab.config.fields import fields, group_docs, value_of

TAKES_WIDTH = 20


@dataclass(frozen=True)
class Arguments(Choice):
    """Print a configuration as YAML, one setting a line with its help and where its value is from.

    The output is a file for --config: `somelab show a1 > mine.yaml`."""

    preset: Annotated[
        str | None, tyro.conf.Positional, tyro.conf.arg(metavar="[PRESET]", help_behavior_hint="")
    ] = None
    """Which preset; `somelab presets` lists them."""
    fields: bool = False
    """Explain every setting instead: what it takes, its value (without a preset: its default), what it
    does."""
    json: bool = False
    """Print it for programs."""


def run(arguments: Arguments) -> None:
    chosen = None
    if (
        not arguments.fields
        or arguments.preset is not None
        or arguments.config is not None
        or arguments.overrides
    ):
        chosen = arguments.resolve(arguments.preset)
    if arguments.fields:
        _show_fields(chosen, arguments.json)
    elif arguments.json:
        assert chosen is not None
        print_json(_entry(chosen))
    else:
        assert chosen is not None
        print(to_yaml(chosen.config, chosen.preset), end="")


def _entry(chosen: Chosen) -> dict[str, Any]:
    start = chosen.preset
    return {
        "name": chosen.name,
        "title": start.title if start else None,
        "version": start.version if start else None,
        "digest": digest(chosen.config),
        "stated": sorted(start.stated) if start else [],
        "filled": sorted(start.filled) if start else sorted(fields()),
        "config": chosen.config.model_dump(mode="json"),
    }


def _show_fields(chosen: Chosen | None, as_json: bool) -> None:
    values = {
        name: value_of(chosen.config, name) if chosen else field.default for name, field in fields().items()
    }
    column = "value" if chosen else "default"
    if as_json:
        print_json(
            [
                {
                    "name": field.name,
                    "takes": field.kind,
                    "default": field.default,
                    "value": values[field.name],
                    "help": field.doc,
                }
                for field in fields().values()
            ]
        )
        return
    for group, doc in group_docs().items():
        print(f"{group}: {doc}\n")
        listing = table("setting", "takes", column, "what it does", wrapped=("takes", "what it does"))
        if sys.stdout.isatty():
            listing.columns[1].max_width = TAKES_WIDTH
        for field in fields().values():
            if field.group == group:
                listing.add_row(field.name, field.kind, _plain(values[field.name]), field.doc)
        console().print(listing)
        print()


def _plain(value: Any) -> str:
    """A value as YAML and the command line write it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, tuple):
        return ",".join(_plain(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
