"""The settings of a run with their help, and which of them differ from its preset."""

from __future__ import annotations

import math
from typing import Any

from somelab.config import Config, preset, scaled
from somelab.config.fields import backbone_gives, fields, value_of
from somelab.errors import SomelabError
from somelab.view.schema.page import Data, Fact, Parameters, Setting


def settings(config: Config, preset_name: str | None, scale: str | None) -> list[Setting]:
    """Every setting, in the order of the tree."""
    usual = _usual(preset_name, scale)
    found: list[Setting] = []
    for name, field in fields().items():
        value = value_of(config, name)
        other = value_of(usual, name)
        text = _text(value)
        if value is None and (given := backbone_gives(config, name)) is not None:
            text = f"{_text(given)} ({config.model.backbone} backbone)"
        found.append(
            Setting(field=name, value=text, help=field.doc, usual=_text(other), changed=value != other)
        )
    return found


def _usual(preset_name: str | None, scale: str | None) -> Config:
    """The preset that a run started from; the defaults if this version does not have it."""
    if preset_name is None:
        return Config()
    try:
        chosen = preset(preset_name).config
        return chosen if scale in (None, "full") else scaled(chosen, scale)  # pyright: ignore[reportArgumentType]
    except SomelabError:
        return Config()


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(_text(part) for part in value)
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(part)}" for name, part in value.items()) or "none"
    return (
        {True: "true", False: "false", None: "null"}[value]
        if value is None or isinstance(value, bool)
        else f"{value}"
    )


def num_steps(config: Config, data: Data | None) -> int | None:
    """Steps of the whole run; None where a clock ends it, or where epochs cannot be counted."""
    train = config.train
    if train.minutes is not None or (train.steps is None and data is None):
        return None
    if train.steps is not None:
        return train.steps
    assert data is not None
    packed = config.data.layout == "pack"
    per_epoch = (
        data.train_tokens // (train.batch_size * config.model.seq_len)
        if packed
        else data.train_documents // train.batch_size
    )
    return max(1, math.ceil((train.epochs or 0) * per_epoch))


def data_of(facts: dict[str, Any]) -> Data | None:
    """The data as recorded in run.json; None if it is incomplete."""
    return _known(Data, facts.get("data"))


def parameters_of(facts: dict[str, Any]) -> Parameters | None:
    return _known(Parameters, facts.get("parameters"))


def _known(part: Any, found: Any) -> Any:
    if not isinstance(found, dict) or not part.model_fields.keys() <= found.keys():
        return None
    return part(**{name: found[name] for name in part.model_fields})


def environment(content: dict[str, Any]) -> list[Fact]:
    """environment.json as lines; the command and the start have fields of their own."""
    packages = content.get("packages")
    lines = [
        Fact(name=name, value=str(value))
        for name, value in (packages.items() if isinstance(packages, dict) else ())
    ]
    apart = ("packages", "command", "started")
    rest = [
        Fact(name=name.replace("_", " "), value=_text(value))
        for name, value in content.items()
        if name not in apart
    ]
    return [*rest, *lines]
