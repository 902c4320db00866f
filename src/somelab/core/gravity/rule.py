"""What a rule declares: the statistics it needs, when it is on, how it acts in test-time adaptation.
Statistics, key store and test-time adaptation derive everything else from this; `order.py` gives the
order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from somelab.errors import ConfigError, nearest

if TYPE_CHECKING:
    from somelab.config import GravityConfig
    from somelab.core.gravity.state import KeyState, Moment
    from somelab.core.statistics import RoutingStatistics

Part = Literal["queries", "credit", "credit_noise", "pairs", "kept", "raw_queries"]
"""Statistics that are collected only if a rule needs them: sums of queries per expert, sums weighted by merit
and their noise, counts of pairs selected together, a sample of queries, the sum of raw queries. Counts and
gate mass are always collected."""
Act = Callable[["KeyState", "RoutingStatistics", "Moment"], "KeyState"]
Changes = dict[str, Any]
"""Fields of `GravityConfig` with other values."""


class Setup(NamedTuple):
    """The settings of a layer, as far as rules depend on them."""

    gravity: GravityConfig
    centred: bool = False
    """Whether the router subtracts a running mean from its queries."""


def always(setup: Setup) -> bool:
    return True


def unchanged(*_: Any) -> Changes:
    return {}


@dataclass(frozen=True)
class Rule:
    """A pure function (state, seen, now) -> state and its declaration."""

    act: Act
    reads: tuple[Part, ...] | Callable[[Setup], tuple[Part, ...]] = ()
    """The parts of the statistics that it needs beside counts."""
    is_on: Callable[[Setup], bool] = always
    """Whether it does anything under these settings. Statistics collect nothing for a rule that does not."""
    moves_keys: bool = True
    """If true, the rule is off where keys are fixed, trained by gradient, or frozen in this layer."""
    paced: Callable[[GravityConfig, float], Changes] = unchanged
    """Its settings for an update that counts as this many training steps."""
    reading: Callable[[GravityConfig, bool], Changes] = unchanged
    """Its settings in test-time adaptation, from those of the run; the flag: whether the user has switched it
    on."""
    switch: bool = False
    """Whether users of adaptation switch it by name. Otherwise its settings decide."""
    extra: tuple[str, ...] = ()
    """Names that it reads from `gravity.extra`, where rules that are not in the package have their rates."""
    before: str = "step_cap"
    """The rule before which it acts, if it is not in the package."""

    @property
    def name(self) -> str:
        return self.act.__name__

    def parts(self, setup: Setup) -> tuple[Part, ...]:
        """What it reads under these settings."""
        return self.reads(setup) if callable(self.reads) else self.reads


def scaled(*names: str) -> Callable[[GravityConfig, float], Changes]:
    """For rules whose rates are proportional to the number of steps that an update counts as."""
    return lambda gravity, pace: {name: getattr(gravity, name) * pace for name in names}


def parts_read(order: Iterable[Rule], setup: Setup, *, moving: bool) -> set[Part]:
    """All statistics that the active rules need. `moving`: whether the keys of the layer move."""
    active = [rule for rule in order if rule.is_on(setup) and (moving or not rule.moves_keys)]
    return {part for rule in active for part in rule.parts(setup)}


def extra_names(order: Iterable[Rule]) -> set[str]:
    """The names in `gravity.extra` that these rules read."""
    return {name for rule in order for name in rule.extra}


def with_rules(order: Sequence[Rule], rules: Iterable[Rule]) -> list[Rule]:
    """The order with further rules, each placed before the rule that it names."""
    extended = list(order)
    for rule in rules:
        names = [one.name for one in extended]
        if rule.name in names:
            raise ConfigError("rule", rule.name, "is already the name of a rule", "give it another name")
        if rule.before not in names:
            problem = f"stands before {rule.before!r}, which is no rule"
            raise ConfigError("rule", rule.name, problem, nearest(rule.before, names))
        extended.insert(names.index(rule.before), rule)
    return extended
