"""A sweep from a YAML file: `grid` (every combination of some settings), `list` (arms one by one), `pairs` (a
base and its variants, paired by seed). Mistakes name the field, the value and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from somelab.config import Config, override, preset, scaled
from somelab.config.bounded_yaml import read_yaml_file
from somelab.errors import ConfigError, nearest
from somelab.experiments.runner.plan import DEFAULT_SHIFT, Arm, Plan, seeds_of

if TYPE_CHECKING:
    from somelab.experiments.probes.shift_probe import Reading

KEYS = ("name", "title", "preset", "scale", "seeds", "settings", "probes", "shift", "grid", "list", "pairs")
ARM_KEYS = ("name", "title", "preset", "settings")
PAIR_KEYS = ("base", "variants")
MOST_ARMS = 1000


def plan_from_file(path: Path, scale: str | None = None, seeds: tuple[int, ...] | None = None) -> Plan:
    """The plan in a file. `scale` and `seeds`, if given, replace the file's."""
    content = read_yaml_file(path, "plan", "give a series (`somelab sweep --list`) or a YAML file")
    tree = _mapping(content, "plan", KEYS, path)
    scale = scale or str(tree.get("scale", "full"))
    reader = _Reader(
        path, str(tree.get("preset", "a1")), scale, _settings(tree.get("settings"), "settings", path)
    )
    arms = [
        *reader.grid(tree.get("grid")),
        *reader.listed(tree.get("list")),
        *reader.pairs(tree.get("pairs")),
    ]
    probes = _probes(tree.get("probes"), path)
    shift, reading = _shift(tree.get("shift"), path)
    return Plan(
        str(tree.get("name", path.stem)),
        tuple(replace(arm, probes=probes) for arm in arms),
        seeds or _seeds(tree.get("seeds", 3)),
        str(tree.get("title", "")),
        scale,
        {name: str(value) for name, value in reader.common.items()},
        shift=shift,
        reading=reading,
    )


class _Reader:
    """Arms out of the parts of a file, all from one preset, at one scale, with some settings in common."""

    def __init__(self, path: Path, start: str, scale: str, common: dict[str, Any]) -> None:
        self.path, self.start, self.scale, self.common = path, start, scale, common

    def grid(self, tree: object) -> list[Arm]:
        """Every combination; an arm is named by its settings: num_experts=16,beta=0."""
        if tree is None:
            return []
        axes = _settings(tree, "grid", self.path)
        for name, values in axes.items():
            if not isinstance(values, list) or not values:
                raise _wrong(
                    f"grid.{name}", values, "is not a list of values", "write [first, second]", self.path
                )
        num_arms = prod(len(values) for values in axes.values())
        if num_arms > MOST_ARMS:
            remedy = f"give fewer values; at most {MOST_ARMS:,} arms"
            raise _wrong("grid", f"{num_arms:,} arms", "are too many", remedy, self.path)
        arms: list[Arm] = []
        for values in product(*axes.values()):
            settings = dict(zip(axes, values, strict=True))
            label = ",".join(f"{name.split('.')[-1]}={_label(value)}" for name, value in settings.items())
            arms.append(Arm(label, self._config(self.start, settings)))
        return arms

    def listed(self, tree: object) -> list[Arm]:
        return [
            self._arm(entry, f"list[{number}]")
            for number, entry in enumerate(_sequence(tree, "list", self.path))
        ]

    def pairs(self, tree: object) -> list[Arm]:
        arms: list[Arm] = []
        for number, entry in enumerate(_sequence(tree, "pairs", self.path)):
            place = f"pairs[{number}]"
            pair = _mapping(entry, place, PAIR_KEYS, self.path)
            base = self._arm(pair.get("base"), f"{place}.base")
            arms.append(base)
            for index, variant in enumerate(_sequence(pair.get("variants"), f"{place}.variants", self.path)):
                arms.append(self._arm(variant, f"{place}.variants[{index}]", base.name))
        return arms

    def _arm(self, entry: object, place: str, base: str | None = None) -> Arm:
        if isinstance(entry, str):  # a preset by its name alone
            entry = {"preset": entry}
        tree = _mapping(entry, place, ARM_KEYS, self.path)
        settings = _settings(tree.get("settings"), f"{place}.settings", self.path)
        start = str(tree.get("preset", self.start))
        name = str(tree.get("name", start))
        published = None if settings else start
        return Arm(name, self._config(start, settings), str(tree.get("title", "")), base, published)

    def _config(self, start: str, settings: Mapping[str, Any]) -> Config:
        try:
            return override(scaled(preset(start).config, self.scale), {**self.common, **settings})
        except ConfigError as error:
            raise _wrong(error.field, error.value, error.problem, error.remedy, self.path) from None


def _mapping(tree: object, place: str, known: tuple[str, ...], path: Path) -> dict[str, Any]:
    if not isinstance(tree, dict):
        raise _wrong(place, tree, "is not a mapping", f"give some of {', '.join(known)}", path)
    for key in tree:
        if key not in known:
            raise _wrong(f"{place}.{key}", tree[key], "is not known here", nearest(str(key), known), path)
    return {str(key): value for key, value in tree.items()}


def _settings(tree: object, place: str, path: Path) -> dict[str, Any]:
    """Dotted settings; what they may be is checked when they are put into a configuration."""
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise _wrong(place, tree, "is not a mapping of settings", "write experts.top_k: 8", path)
    return {str(name): value for name, value in tree.items()}


def _sequence(tree: object, place: str, path: Path) -> list[Any]:
    if tree is None:
        return []
    if not isinstance(tree, list):
        raise _wrong(place, tree, "is not a list", "begin each entry with a dash", path)
    return list(tree)


def _seeds(value: object) -> tuple[int, ...]:
    if isinstance(value, int) and not isinstance(value, bool):
        return seeds_of(value)
    if (
        isinstance(value, list)
        and value
        and all(isinstance(seed, int) and not isinstance(seed, bool) for seed in value)
    ):
        return tuple(value)
    raise ConfigError(
        "seeds", value, "is neither a number of seeds nor a list of them", "write 3 or [0, 1, 2]"
    )


def _probes(tree: object, path: Path) -> tuple[str, ...]:
    """What is measured on every trained run beside its last evaluation."""
    from somelab.experiments.probes.probes import PROBES

    names = tuple(str(name) for name in _sequence(tree, "probes", path))
    for name in names:
        if name not in PROBES:
            raise _wrong("probes", name, "is not a probe", nearest(name, PROBES), path)
    return names


def _shift(tree: object, path: Path) -> tuple[str, Reading]:
    """The text of another kind that probes read: its name, or `data` beside how much of it is read."""
    from somelab.experiments.probes.shift_probe import Reading

    if tree is None or isinstance(tree, str):
        return tree or DEFAULT_SHIFT, Reading()
    sizes = tuple(one.name for one in fields(Reading))
    found = _mapping(tree, "shift", ("data", *sizes), path)
    for name in sizes:
        value = found.get(name, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise _wrong(f"shift.{name}", value, "is not a number of tokens", "write 40000", path)
    return str(found.pop("data", DEFAULT_SHIFT)), Reading(**found)


def _label(value: object) -> str:
    """A value in an arm's name."""
    if isinstance(value, list):
        return "+".join(_label(part) for part in value)
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def _wrong(field: str, value: object, problem: str, remedy: str, path: Path) -> ConfigError:
    return ConfigError(field, value, problem, f"{remedy} (in {path.name})")
