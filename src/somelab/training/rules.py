"""User-defined rules: a run records them, so that it resumes with the same ones."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from somelab.config import Config
from somelab.core.gravity import ORDER, Rule, with_rules
from somelab.core.keystore import check_extra
from somelab.errors import SomelabError
from somelab.runs import RunError, RunFolder


def order_of(rules: Sequence[Rule]) -> list[Rule] | None:
    """The order with further rules; None without any: somelab's own."""
    return with_rules(ORDER, rules) if rules else None


def check_rules(config: Config, rules: Sequence[Rule]) -> None:
    """Raise for rules that do not fit into the order, and for rates that no rule uses."""
    check_extra(config.gravity, order_of(rules) or ORDER)


def remembered(rules: Sequence[Rule]) -> list[dict[str, str]]:
    """What a run records of them."""
    return [{"name": rule.name, "before": rule.before, "source": _digest(rule)} for rule in rules]


def check_same(run: RunFolder, rules: Sequence[Rule]) -> None:
    """Raise if a run is resumed with other rules than it began with."""
    begun: list[dict[str, Any]] = run.facts().get("rules", [])
    names = ", ".join(rule["name"] for rule in begun)
    if begun and not rules:
        raise SomelabError(f"run {run.path}: was trained with the rule {names}; give its file with --rule")
    if [rule["name"] for rule in begun] != [rule.name for rule in rules]:
        raise RunError(
            f"run {run.path}: was trained with {names or 'no rule of its own'}; give the same with --rule"
        )
    if begun != remembered(rules):
        raise RunError(
            f"run {run.path}: the rule {names} has changed since; restore its file to continue this run"
        )


def _digest(rule: Rule) -> str:
    """Digest of the file that defines a rule, or of the function if there is no file, as in a notebook."""
    file = Path(rule.act.__code__.co_filename) if hasattr(rule.act, "__code__") else None
    try:
        text = (
            file.read_bytes() if file is not None and file.is_file() else inspect.getsource(rule.act).encode()
        )
    except (OSError, TypeError):
        return ""
    return hashlib.blake2b(text, digest_size=8).hexdigest()
