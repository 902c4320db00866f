"""What a preset is: a configuration with a name, where each of its settings comes from, and its published
figures. A preset is made from dotted settings, so that what a report states and what is filled in stay
apart."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from somelab.config.fields import fields
from somelab.config.files import override, parse
from somelab.config.tree import Config
from somelab.config.versions import Settings, version_settings


@dataclass(frozen=True)
class Published:
    """The figures of a published run. Parameters are in millions; None where the report gives none."""

    total: float | None = None
    trainable: float | None = None
    recount_total: float | None = None
    recount_trainable: float | None = None
    steps: int | None = None
    epochs: tuple[Mapping[str, float], ...] = ()
    final: Mapping[str, float] = field(default_factory=dict)
    note: str | None = None
    with_padding: bool = False
    """Losses count padding, and Gini and entropy are those of the usage in training, padding included."""


@dataclass(frozen=True)
class Preset:
    """A named configuration. `stated` are the dotted names that its source gives; all others are filled."""

    name: str
    title: str
    series: str
    source: str
    version: str
    config: Config
    stated: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    """The part of `stated` that was published outside the reports."""
    published: Published | None = None
    note: str = ""

    @property
    def filled(self) -> frozenset[str]:
        """The settings that no source gives."""
        return frozenset(fields()) - self.stated

    def provenance(self, name: str) -> str:
        """Where a setting is from: `stated`, `elsewhere`, the version's name, or `filled`."""
        if name in self.elsewhere:
            return "elsewhere"
        if name in self.stated:
            return "stated"
        return self.version if name in version_settings(self.version) else "filled"


def make(
    name: str,
    title: str,
    *,
    series: str,
    source: str,
    version: str,
    stated: Settings | None = None,
    elsewhere: Settings | None = None,
    filled: Settings | None = None,
    note: str = "",
) -> Preset:
    """A preset from a version's settings, then what fills the gaps, then what the sources give."""
    stated, elsewhere = stated or {}, elsewhere or {}
    figures = published(name)
    return Preset(
        name=name,
        title=title,
        series=series,
        source=source,
        version=version,
        config=parse(nested({**version_settings(version), **(filled or {}), **elsewhere, **stated})),
        stated=frozenset({**stated, **elsewhere}),
        elsewhere=frozenset(elsewhere) - frozenset(stated),
        published=figures,
        note=note or _published_note(figures),
    )


def vary(
    base: Preset, name: str, title: str, changes: Settings, *, stated: bool, note: str = "", **about: str
) -> Preset:
    """Another preset with a few settings changed; `stated`: whether a source gives the changes. `about`:
    series, source."""
    changed = frozenset(changes)
    return replace(
        base,
        name=name,
        title=title,
        config=override(base.config, changes),
        stated=base.stated | changed if stated else base.stated - changed,
        elsewhere=base.elsewhere - changed,
        published=published(name),
        note=note or _published_note(published(name)),
        **about,
    )


def nested(settings: Settings) -> dict[str, dict[str, Any]]:
    """Dotted settings as the tree that `parse` reads."""
    tree: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        group, _, key = name.partition(".")
        tree.setdefault(group, {})[key] = value
    return tree


@cache
def published(name: str) -> Published | None:
    """The published figures of a run; None if it is not in the reports."""
    run = _figures()["runs"].get(name)
    if run is None:
        return None
    parameters, recount = run["parameters"] or {}, run["recount"] or {}
    return Published(
        total=parameters.get("total"),
        trainable=parameters.get("trainable"),
        recount_total=recount.get("total"),
        recount_trainable=recount.get("trainable"),
        steps=run["steps"],
        epochs=tuple(run["epochs"]),
        final=run["final"],
        note=run["note"],
        with_padding=run["with_padding"],
    )


def study(name: str) -> str:
    """What a study that the reports propose changes, in a few words."""
    return _figures()["studies"][name]


def _published_note(figures: Published | None) -> str:
    return figures.note or "" if figures else ""


@cache
def _figures() -> dict[str, Any]:
    return json.loads(files("somelab.config").joinpath("published.json").read_text(encoding="utf-8"))
