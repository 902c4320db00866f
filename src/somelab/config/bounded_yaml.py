"""One reader of YAML for configuration files, settings on a command line and plans of sweeps: safe, bounded
in bytes, depth and number of values, and every mistake is one YamlProblem. PyYAML alone raises whatever
Python's conversions raise (`2026-99-99`, `0x_`, five thousand digits), and follows aliases that multiply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from somelab.disk import guarded
from somelab.errors import ConfigError, reading_problem

LARGEST_TEXT = 256 << 10
"""Bytes. A whole configuration has about ten thousand."""
DEEPEST = 16
"""Mappings and lists inside each other. A plan of a sweep has seven."""
MOST_VALUES = 20_000
"""Keys and values, those that an alias repeats included."""
LARGEST_BITS = 256
"""Of a whole number. Python refuses to print longer ones, so that not even a message could show them."""


class YamlProblem(ValueError):
    """What is wrong with a text, in one line."""


def read_yaml(text: str) -> Any:
    """The value that a text holds: mappings, lists, text, numbers, truth values, dates or null."""
    if len(text) > LARGEST_TEXT or len(text.encode("utf-8", "replace")) > LARGEST_TEXT:
        raise YamlProblem(f"has more than {LARGEST_TEXT:,} bytes")
    try:
        return yaml.load(text, Loader=_Bounded)
    except yaml.YAMLError as error:
        raise YamlProblem(_problem(error)) from None


def read_yaml_file(path: Path, field: str, remedy: str) -> Any:
    """The same from a file. A ConfigError names `field`; `remedy` is for a path that is no such file."""

    def refused(problem: str, remedy: str) -> ConfigError:
        return ConfigError(field, str(path), problem, remedy)

    try:
        return read_yaml(guarded.read_text(path, limit=LARGEST_TEXT))
    except UnicodeDecodeError as error:
        raise refused(f"is not UTF-8 text (byte {error.start})", "save it as UTF-8") from None
    except YamlProblem as error:
        raise refused(f"is not YAML ({error})", "correct that line") from None
    except guarded.GuardError as error:
        raise refused(str(error).removeprefix(f"{path}: "), remedy) from None
    except OSError as error:
        raise refused(reading_problem(error), remedy) from None
    except ValueError:  # a path with a NUL
        raise refused("is not a path", remedy) from None


def _problem(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    problem = _cut(" ".join(str(problem).split()), 160)
    return f"line {mark.line + 1}: {problem}" if mark else problem


class _Bounded(yaml.SafeLoader):
    """A safe loader with limits. A key given twice is an error; plain YAML keeps the last one silently."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0
        self._num_values = 0
        # Values inside each anchored node; None while the node is being read, so that it cannot hold itself.
        self._sizes: dict[str, int | None] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()
        anchor = event.anchor if isinstance(event, yaml.NodeEvent) else None
        before = self._num_values
        if isinstance(event, yaml.AliasEvent):
            size = self._sizes.get(anchor, 0) if anchor else 0
            if size is None:
                raise ConstructorError(
                    None, None, f"*{anchor} is inside of what it stands for", event.start_mark
                )
            self._num_values += size
        elif anchor:
            self._sizes[anchor] = None
        self._depth += 1
        self._num_values += 1
        if self._depth > DEEPEST:
            raise ConstructorError(None, None, f"nested more than {DEEPEST} deep", event.start_mark)
        if self._num_values > MOST_VALUES:
            raise ConstructorError(None, None, f"more than {MOST_VALUES:,} values", event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if anchor and not isinstance(event, yaml.AliasEvent):
            self._sizes[anchor] = self._num_values - before
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        # What conversions of scalars raise: int(), float(), dates out of range, `!!bool maybe`.
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
            raise ConstructorError(None, None, f"{_shown(node)} cannot be read", node.start_mark) from None
        if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
            raise ConstructorError(None, None, f"{_shown(node)} is too large a number", node.start_mark)
        return value

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        # `!!map text` arrives here as a scalar, which the base class refuses.
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key_node, yaml.ScalarNode):
                if key_node.value in seen:
                    raise ConstructorError(
                        None, None, f"{_cut(key_node.value)} is given twice", key_node.start_mark
                    )
                seen.add(key_node.value)
        return super().construct_mapping(node, deep)  # pyright: ignore[reportArgumentType]


def _shown(node: yaml.Node) -> str:
    kind = str(node.tag).rpartition(":")[2]
    return f"{kind} {_cut(node.value)!r}" if isinstance(node, yaml.ScalarNode) else kind


def _cut(text: str, length: int = 40) -> str:
    return text if len(text) <= length else text[:length] + "..."
