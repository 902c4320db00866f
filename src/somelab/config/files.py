"""Reading and writing a configuration: nested mappings, YAML files, dotted overrides, and a digest. The tree
is always validated once and as a whole, and a mistake is one ConfigError."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from somelab.config.bounded_yaml import LARGEST_BITS, YamlProblem, read_yaml, read_yaml_file
from somelab.config.couplings import implied
from somelab.config.fields import Field, backbone_gives, fields, group_docs, unknown_remedy, value_of
from somelab.config.problems import config_error, config_error_of
from somelab.config.tree import Config
from somelab.errors import ConfigError

if TYPE_CHECKING:
    from somelab.config.presets.preset import Preset

COMMENT_COLUMN = 34
HELP_WIDTH = 54


def parse(tree: object, origin: str = "") -> Config:
    """A validated Config from nested mappings; missing settings take their defaults. `origin`: the file to
    name in messages."""
    if not isinstance(tree, Mapping):
        raise config_error_of(
            "config",
            tree,
            "is not a mapping of groups",
            f"begin with a group: {', '.join(group_docs())}",
            origin,
        )
    # A group whose lines are all commented out is null in YAML and counts as empty.
    groups = {
        name: {} if content is None and name in group_docs() else content for name, content in tree.items()
    }
    given = {
        f"{group}.{key}": value
        for group, content in groups.items()
        if isinstance(content, Mapping)
        for key, value in content.items()
    }
    _refuse_odd_numbers(given, origin)
    return _validated(_merged(groups, implied(given)), origin)


def override(config: Config, settings: Mapping[str, Any]) -> Config:
    """The configuration with some settings replaced, by dotted name; text is read as a YAML value.

    >>> override(Config(), {"experts.top-k": "8"}).experts.top_k
    8
    """
    given: dict[str, Any] = {}
    for name, value in settings.items():
        given.update(_read_setting(name, value))
    _refuse_odd_numbers(given, "")
    return _validated(_merged(config.model_dump(), {**implied(given), **given}))


def from_yaml(path: str | Path) -> Config:
    """The configuration in a YAML file, as `to_yaml` writes it or shorter: what the file leaves out takes its
    default."""
    path = Path(path)
    tree = read_yaml_file(path, "config file", "give the path of a YAML file")
    return parse({} if tree is None else tree, origin=path.name)


def to_yaml(config: Config, preset: Preset | None = None) -> str:
    """The whole configuration as YAML, one setting a line with its help; with a preset, also where each value
    is from."""
    lines = _header(preset, changed=config != preset.config) if preset else []
    for group, doc in group_docs().items():
        lines.append(f"{group}:".ljust(COMMENT_COLUMN) + f"# {doc}")
        for field in fields().values():
            if field.group == group:
                value = value_of(config, field.name)
                setting = f"  {field.key}: {_scalar(value)}".ljust(COMMENT_COLUMN - 1)
                lines.append(f"{setting} # {_provenance(config, field, preset)}{_help(config, field)}")
    return "\n".join(lines) + "\n"


def digest(config: Config) -> str:
    """Twelve hexadecimal digits that identify the resolved configuration."""
    return _digest(config.model_dump(mode="json"))


def digest_of_changes(config: Config) -> str:
    """The same over the settings that differ from the defaults: a new setting with its default changes no
    digest."""
    return _digest(config.model_dump(mode="json", exclude_defaults=True))


def _digest(tree: dict[str, Any]) -> str:
    canonical = json.dumps(tree, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def _validated(tree: Mapping[str, Any], origin: str = "") -> Config:
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        raise config_error(error, origin) from None


def _merged(groups: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Groups with dotted settings inserted; the arguments are not modified."""
    tree = {
        name: dict(content) if isinstance(content, Mapping) else content for name, content in groups.items()
    }
    for name, value in settings.items():
        group, _, key = name.partition(".")
        content = tree.setdefault(group, {})
        if isinstance(content, dict):
            inner, _, rest = key.partition(".")
            content[inner] = {**content.get(inner, {}), rest: value} if rest else value
    return tree


def _read_setting(name: str, value: Any) -> dict[str, Any]:
    """One override as {dotted name: value}; the last part of `gravity.extra.my-rule` is the rule's own
    name."""
    group, _, rest = name.partition(".")
    key, _, entry = rest.partition(".")
    known = ".".join([group.replace("-", "_"), key.replace("-", "_")]) if rest else group
    field = fields().get(known)
    if field is None or (entry and field.base is not dict):
        raise ConfigError(name, value, "is not a setting", unknown_remedy(name))
    parsed = _read_value(field, value, whole=not entry) if isinstance(value, str) else value
    return {f"{known}.{entry}" if entry else known: parsed}


def _read_value(field: Field, text: str, whole: bool) -> Any:
    if field.base is str and not field.choices:
        return text
    if text == "None" and field.nullable:  # help texts write None, as Python does
        return None
    try:
        value = read_yaml(text)
        if whole and field.base is tuple and value is not None and not isinstance(value, list):
            return [read_yaml(part) for part in text.split(",")]
    except YamlProblem:
        raise config_error_of(field.name, text, "cannot be read", field.remedy) from None
    return text if isinstance(value, Mapping) and field.base is not dict else value


def _refuse_odd_numbers(given: Mapping[str, Any], origin: str) -> None:
    """YAML reads `yes` and `on` as true, which pydantic would take for the number 1. A number that Python
    does not print cannot be in pydantic's messages either."""
    for name, value in given.items():
        field = fields().get(name)
        if isinstance(value, bool) and field is not None and field.base in (int, float):
            raise config_error_of(name, value, "is not a number", field.remedy, origin)
        if isinstance(value, int) and value.bit_length() > LARGEST_BITS:  # from Python; files cannot hold it
            raise config_error_of(name, value, "is too large a number", "choose a smaller one", origin)


def _header(preset: Preset, changed: bool) -> list[str]:
    meanings = {
        "stated": "given by the report",
        "elsewhere": "published outside the reports",
        preset.version: "what this version means",
        "filled": "left open there, filled by somelab",
    }
    if changed:
        meanings["changed"] = "not the preset's value"
    lines = [f"# {preset.name}: {preset.title} ({preset.source})"]
    if preset.note:
        lines.append(f"# note: {preset.note}")
    if preset.stated:
        lines += [
            "# Where each value is from:",
            *(f"#   {label:<10} {meaning}" for label, meaning in meanings.items()),
        ]
    return lines


def _provenance(config: Config, field: Field, preset: Preset | None) -> str:
    if preset is None or not preset.stated:
        return ""
    same = value_of(config, field.name) == value_of(preset.config, field.name)
    return f"{preset.provenance(field.name) if same else 'changed':<10}"


def _help(config: Config, field: Field) -> str:
    given = backbone_gives(config, field.name) if value_of(config, field.name) is None else None
    if given is None:
        return field.short(HELP_WIDTH)
    addition = f" ({config.model.backbone} backbone: {_scalar(given)})"
    return field.short(HELP_WIDTH - len(addition)) + addition


def _scalar(value: Any) -> str:
    """A value in YAML on one line, read back as itself."""
    plain = list(value) if isinstance(value, tuple) else value
    style = '"' if isinstance(value, str) and (not value.isprintable() or value == "") else None
    text = yaml.safe_dump(
        plain, default_flow_style=True, allow_unicode=True, width=1 << 20, default_style=style
    )
    return text.removesuffix("...\n").strip()
