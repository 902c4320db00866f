"""Optional packages: one line that names the missing extra, instead of a traceback."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from somelab.errors import SomelabError


class MissingExtra(SomelabError):
    """A package that an extra of somelab brings is not installed."""


def needed(package: str, extra: str, purpose: str) -> Any:
    """Import a package, or raise one line with the command that installs it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != package.split(".")[0]:
            raise
        raise MissingExtra(
            f"{purpose} needs the package {package.split('.')[0]}; pip install 'somelab[{extra}]'"
        ) from None
