"""From pydantic's errors to one sentence with field, value, problem and remedy. Only the first mistake is
reported; the rest are counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from somelab.config.fields import Field, fields, unknown_remedy
from somelab.errors import ConfigError

# The beginning of pydantic's error types (int_parsing, bool_type, ...) and what was expected.
EXPECTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list",
}


def config_error(error: ValidationError, origin: str = "") -> ConfigError:
    """The first mistake as a ConfigError. `origin` (a file's name) is added to the remedy."""
    mistakes = error.errors(include_url=False)
    name, value, problem, remedy = _sentence(dict(mistakes[0]))
    return config_error_of(name, value, problem, remedy, origin, len(mistakes) - 1)


def config_error_of(
    name: str, value: object, problem: str, remedy: str, origin: str = "", num_more: int = 0
) -> ConfigError:
    """A ConfigError that also gives the file and the number of further mistakes."""
    place = f" (in {origin})" if origin else ""
    more = f" (and {num_more} more)" if num_more else ""
    return ConfigError(name, _abridged(value), problem, remedy + place + more)


def _sentence(mistake: dict[str, Any]) -> tuple[str, object, str, str]:
    kind, location, value = mistake["type"], [str(part) for part in mistake["loc"]], mistake["input"]
    context: Mapping[str, Any] = mistake.get("ctx") or {}
    # Raised by our own validators: the location is the group's and the field relative to it, or the field's.
    if kind == "somelab":
        return (
            ".".join([*location, *filter(None, [context["field"]])]),
            context["value"],
            context["problem"],
            context["remedy"],
        )
    name = ".".join(location)
    if kind in ("extra_forbidden", "invalid_key"):
        return name, value, "is not a setting", unknown_remedy(name)
    field = fields().get(".".join(location[:2]))
    if field is None:
        return name or "config", value, "is not a group of settings", "give a mapping of names to values"
    if kind == "missing":  # a pair with one value: pydantic points at the place that is empty
        name = field.name
    return name, value, _problem(kind, context, value), _remedy(field, kind, len(location) > 2)


def _problem(kind: str, context: Mapping[str, Any], value: object) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "is not a finite number"
    if value is None:
        return "cannot be null"
    match kind:
        case "greater_than_equal":
            return f"is less than {context['ge']:g}"
        case "greater_than":
            return f"is not more than {context['gt']:g}"
        case "less_than_equal":
            return f"is more than {context['le']:g}"
        case "less_than":
            return f"is not less than {context['lt']:g}"
        case "finite_number":
            return "is not a finite number"
        case "literal_error":
            return "is not one of its values"
        case "int_from_float":
            return "is not a whole number"
        case "missing" | "too_short":
            return "has too few values"
        case "too_long":
            return f"has more than {context['max_length']} values"
        case _:
            return f"is not {EXPECTED.get(kind.partition('_')[0], 'a value that this setting can take')}"


def _remedy(field: Field, kind: str, is_entry: bool) -> str:
    if field.base is dict and is_entry:
        return "give a number"
    if field.base is tuple and kind == "tuple_type":
        return f"{field.remedy}, e.g. 1,2 or [1, 2]"
    return field.remedy


def _abridged(value: object) -> object:
    """A value that fits in a message; long ones are shortened."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # ConfigError has words for it
        return value
    return value if len(text) <= 80 else _Abridged(text[:60] + "...")


class _Abridged(str):
    """Text that stands for a value and is shown without quotes."""

    def __repr__(self) -> str:
        return str(self)
