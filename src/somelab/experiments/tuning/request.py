"""What is to be tuned: one setting, on a geometric grid around each arm's own value or among given values.

Bad requests raise here, before anything is trained: a name that is no setting, settings that a loss cannot
select (the random seed, the text, the length of a run), and values that an arm does not allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from somelab.config import Config, override
from somelab.config.fields import Field, fields, unknown_remedy, value_of
from somelab.errors import ConfigError
from somelab.experiments.runner.plan import Arm, Plan, identity
from somelab.experiments.tuning.search import REACH, Search, first_values
from somelab.experiments.tuning.tuner import SEED, Tuner, check_judging
from somelab.experiments.tuning.value import Value, folder_name, is_number, shown

EQUAL_LENGTH = "a search compares runs of equal length"
MEASURE = "defines how runs are measured, and the search sets it"
REFUSED = {
    "train.seed": "selecting a random seed by its loss is overfitting",
    "train.epochs": EQUAL_LENGTH,
    "train.steps": EQUAL_LENGTH,
    "train.minutes": EQUAL_LENGTH,
    "train.eval_every": MEASURE,
    "train.eval_tokens": MEASURE,
    "model.vocab_size": "losses per token are not comparable across vocabularies",
}
OTHER_SETTING = "tune another setting, such as train.learning_rate"
AS_ARMS = "make an arm of each value, under grid or list in a plan file"


@dataclass(frozen=True)
class Request:
    """One setting of all arms."""

    setting: str
    words: tuple[str, ...] = ()
    """The values that were given, as they were written; none: search on a grid."""

    @property
    def field(self) -> Field:
        return fields()[self.setting]

    def values(self, config: Config) -> tuple[Value, ...]:
        """The given values as an arm's configuration reads them."""
        return tuple(value_of(override(config, {self.setting: word}), self.setting) for word in self.words)

    def record(self) -> dict[str, Any]:
        """For JSON: what was tuned, and on which random seed. `values` is null for a grid."""
        return {"setting": self.setting, "values": list(self.words) or None, "seed": SEED}

    def check(self, plan: Plan) -> None:
        """Refuse a plan of which tuned arms could not be compared."""
        check_judging(plan.seeds)
        for arm in plan.arms:
            if arm.config.data.purpose == "tune":
                problem = f"arm {arm.name} would be evaluated on the text that its settings are selected on"
                raise ConfigError(
                    "data.purpose", "tune", problem, "leave it at judge; --tune sets it where needed"
                )
        self._check_alike(plan.arms)

    def _check_alike(self, arms: Sequence[Arm]) -> None:
        """Refuse two arms that differ in the tuned setting alone: both would end at the same value."""
        seen: dict[str, Arm] = {}
        for arm in arms:
            own = value_of(arm.config, self.setting)
            common = override(arm.config, {self.setting: value_of(arms[0].config, self.setting)})
            other = seen.setdefault(identity(common), arm)
            if value_of(other.config, self.setting) != own:
                problem = f"{other.name} and {arm.name} differ in it alone, and tuning would make them equal"
                remedy = "leave one of them out, or tune another setting"
                raise ConfigError("tune", self.setting, problem, remedy)

    def tuner(self, arm: Arm, folder: Path, scale: str) -> Tuner:
        """The search of one arm. `folder`: where the runs of all searches go."""
        anchor = value_of(arm.config, self.setting)
        more: dict[str, Any] = {
            "setting": self.setting,
            "anchor": anchor,
            "scale": scale,
            "preset": arm.preset,
        }
        try:
            if self.words:
                more["values"] = self._checked_values(arm.config)
            else:
                more["first"], more["limits"] = self._grid(arm)
            return Tuner(arm.name, arm.config, folder, **more)
        except ConfigError as error:
            # Add the name of the arm.
            raise ConfigError(
                error.field, error.value, f"{error.problem} (arm {arm.name})", error.remedy
            ) from None

    def _checked_values(self, config: Config) -> tuple[Value, ...]:
        values = self.values(config)
        names = [folder_name(value) for value in values]
        for value, name in zip(values, names, strict=True):
            if names.count(name) > 1:
                problem = "is given twice, or is another value's equal to six digits"
                raise ConfigError(self.setting, shown(value), problem, "give each value once")
        return values

    def _grid(self, arm: Arm) -> tuple[tuple[int, ...], tuple[int, int]]:
        """The first values, and how far the grid may grow: both stay where the arm allows the setting."""
        anchor = value_of(arm.config, self.setting)
        if not is_number(anchor) or anchor <= 0:
            problem = "a geometric grid needs a value above 0 to begin from"
            raise ConfigError(self.setting, anchor, problem, self._remedy(f"set --{self.setting} first, or "))
        search = Search(anchor, first_values(0), 1)

        def is_allowed(index: int) -> bool:
            try:
                override(arm.config, {self.setting: search.value(index)})
            except ConfigError:
                return False
            return True

        lowest = highest = 0
        while lowest > search.first[0] - REACH and is_allowed(lowest - 2):
            lowest -= 2
        while highest < search.first[-1] + REACH and is_allowed(highest + 2):
            highest += 2
        first = first_values(min(highest - 2, max(lowest + 4, 0)))
        if first[0] < lowest or not is_allowed(0):
            problem = "the setting allows too few values around it for a grid"
            raise ConfigError(self.setting, anchor, problem, self._remedy())
        return first, (lowest, highest)

    def _remedy(self, first: str = "") -> str:
        return f"{first}give the values to try: --tune {self.setting}={_example(self.field)}"


def parse_request(text: str) -> Request:
    """FIELD, or FIELD=v1,v2,... as the command line has it.

    >>> parse_request("train.learning-rate=0.001,0.002")
    Request(setting='train.learning_rate', words=('0.001', '0.002'))
    """
    name, equals, listed = text.partition("=")
    setting = name.strip().replace("-", "_")
    words = tuple(word.strip() for word in listed.split(",")) if equals else ()
    whole = ".".join(setting.split(".")[:2])  # of an entry of a mapping, such as gravity.extra.wind
    if setting not in fields() and not (whole in fields() and fields()[whole].base is dict):
        raise ConfigError("tune", name, "is not a setting", unknown_remedy(name))
    request = Request(whole, words)
    _check_setting(request)
    if equals and len(words) < 2:
        remedy = f"give two or more, or set it with --{setting}"
        raise ConfigError("tune", text, "one value leaves nothing to choose", remedy)
    if not all(words) and equals:
        raise ConfigError("tune", text, "has an empty value", "write FIELD=v1,v2 without spare commas")
    return request


def _check_setting(request: Request) -> None:
    field = request.field
    if field.group == "data":
        problem = "the text is what arms are compared on, and is the same for all values"
        raise ConfigError("tune", field.name, problem, OTHER_SETTING)
    if field.name in REFUSED:
        raise ConfigError("tune", field.name, REFUSED[field.name], OTHER_SETTING)
    if field.base in (tuple, dict):
        kind = "list" if field.base is tuple else "mapping"
        raise ConfigError("tune", field.name, f"is a {kind}, not one value", AS_ARMS)
    if not request.words and field.base is not float:
        problem = "is a whole number" if field.base is int else f"is not a number ({field.kind})"
        remedy = f"give the values to try: --tune {field.name}={_example(field)}"
        raise ConfigError("tune", field.name, f"{problem}, and a geometric grid needs a real one", remedy)


def _example(field: Field) -> str:
    """Some values of a setting, for a message."""
    if field.base is bool:
        return "true,false"
    if field.choices:
        return ",".join(field.choices[:3])
    start = field.default
    if not is_number(start) or start <= 0:
        return "V1,V2,..."
    return ",".join(shown(start * factor) for factor in ((1, 2, 4) if field.base is int else (0.25, 0.5, 1)))
