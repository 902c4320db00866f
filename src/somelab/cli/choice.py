"""Which configuration a verb works on: a preset or a YAML file, a scale, and dotted settings on top, in this
order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import tyro

from somelab.config import Config, Preset, ScaleName, from_yaml, override, preset, scaled
from somelab.errors import SomelabError


@dataclass(frozen=True)
class Chosen:
    """A resolved configuration, the preset that it started from, and its label."""

    name: str
    preset: Preset | None
    config: Config

    @property
    def is_preset(self) -> bool:
        """Whether the configuration is the preset itself: neither scaled nor changed."""
        return self.preset is not None and self.preset.config == self.config


@dataclass(frozen=True)
class Choice:
    """The flags that every verb with a configuration has."""

    scale: ScaleName = "full"
    """Make the model and the data smaller, by one table for all presets."""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE", help_behavior_hint="")] = None
    """Read this YAML file instead of a preset."""
    overrides: tyro.conf.Suppress[dict[str, str]] = field(default_factory=dict)

    def resolve(self, name: str | None) -> Chosen:
        """The configuration of the preset of that name, or of the file if that is given."""
        if name is not None and self.config is not None:
            raise SomelabError(
                f"{name!r} and --config {self.config} name two configurations; leave one of them out"
            )
        if name is None and self.config is None:
            raise SomelabError(
                "no configuration is named; give a preset (`somelab presets` lists them) or --config FILE"
            )
        if name is not None and name.endswith((".yaml", ".yml")):
            raise SomelabError(f"{name!r} is a file and not a preset; give it as --config {name}")
        if name is not None:
            start = preset(name)
            chosen = Chosen(name, start, start.config)
        else:
            chosen = Chosen(str(self.config), None, from_yaml(str(self.config)))
        config = scaled(chosen.config, self.scale)
        return replace(chosen, config=override(config, self.overrides) if self.overrides else config)
