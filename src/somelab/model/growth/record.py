"""The record of a growth: what was added, on which text, and what it changed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import Any

from somelab.errors import ConfigError

BASE = "base"
"""The model itself, as an expert without parts."""


@dataclass(frozen=True)
class Generation:
    """The record of one growth."""

    name: str
    num_experts: int
    num_parameters: int
    num_bytes: int
    """Of parts and keys, in memory."""
    start_from: str = BASE
    """Whose parts it began as a copy of; `base`: new parts."""
    text: str = ""
    num_tokens: int = 0
    """Tokens that its keys have read."""
    settled: bool = False
    losses: dict[str, float] = field(default_factory=dict[str, float])
    """Nats per token before and after, on new and on old text, where they were measured."""

    def content(self) -> dict[str, Any]:
        return asdict(self)


def check_name(name: str, known: Collection[str]) -> None:
    """Raise for a name that a new generation cannot have."""
    if name in known or name == BASE:
        raise ConfigError("name", name, "is taken", "choose another")
    if not name or len(name) > 64 or not all(letter.isalnum() or letter in "-_" for letter in name):
        raise ConfigError("name", name, "is no name", "use letters, digits, - and _")
