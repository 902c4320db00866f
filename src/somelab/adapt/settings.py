"""The settings of test-time adaptation: what moves, how fast and how far, and the gravity they imply. The
rules are the core's; only their rates are converted, from optimizer steps to tokens of a stream."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from somelab.config import Config, GravityConfig
from somelab.core.gravity import ORDER, Setup
from somelab.errors import ConfigError, nearest

GRAVITY_RULES = tuple(rule.name for rule in ORDER if rule.switch)
"""Rules of the core, each switchable here whether or not the run was trained with it."""
BASELINES = ("cache", "bigram")
"""Word memories that need no routing: one for all tokens, or one for each preceding word. Not part of
SoME."""
MEMORIES = ("memory", *BASELINES)
OTHER_RULES = ("temperature", "gain", *MEMORIES)
"""What else can move without gradients: gate temperatures, a gain per expert, a word memory for each expert,
and the baselines."""
RULES = (*GRAVITY_RULES, *OTHER_RULES)
SCHEDULES = ("constant", "sqrt", "burst")
MASKS = ("all", "surprising", "none")
KEPT = {*GRAVITY_RULES}
"""Rules whose state a checkpoint can hold."""


@dataclass(frozen=True)
class AdaptationSettings:
    """How keys (and what else is named in `rules`) move in test-time adaptation."""

    rules: tuple[str, ...] | None = None
    """Which of RULES act; an empty tuple: keys stay frozen. None: the run's own gravity rules."""
    rate: float = 1.0
    """Factor on the rates of all rules; 1: as in training, per token."""
    schedule: str = "constant"
    """constant | sqrt: the rate decays with 1/sqrt(update) | burst: the same, restarting at each detected
    shift."""
    trust_region: float | None = 0.5
    """How far a key may be from its checkpoint value (its length there is usually 1). None: no bound."""
    reversion: float = 0.0
    """Share of the way back to its checkpoint value that a key moves at every update."""
    every: int = 4096
    """Counted tokens between updates: after each sequence, keys move if this many have been read."""
    mask: str = "all"
    """Which tokens move keys: all | surprising: loss above the running median | none."""

    def __post_init__(self) -> None:
        for rule in self.rules or ():
            if rule not in RULES:
                raise ConfigError("rules", rule, "is not a rule of adaptation", nearest(rule, RULES))
        memories = [rule for rule in MEMORIES if rule in (self.rules or ())]
        if len(memories) > 1:
            raise ConfigError("rules", ",".join(memories), "are several word memories", "choose one of them")
        for name, known in (("schedule", SCHEDULES), ("mask", MASKS)):
            if getattr(self, name) not in known:
                raise ConfigError(
                    name, getattr(self, name), "is not one", nearest(str(getattr(self, name)), known)
                )
        _check("rate", self.rate, self.rate >= 0, "0 or more")
        _check("reversion", self.reversion, 0 <= self.reversion <= 1, "a value from 0 to 1")
        if self.trust_region is not None:
            _check(
                "trust_region", self.trust_region, self.trust_region >= 0, "0 or more, or None for no bound"
            )
        _check("every", self.every, self.every >= 1, "1 or more tokens")

    def resolved(self, config: Config) -> tuple[str, ...]:
        """The rules that act on a model of this configuration, in the order of RULES."""
        if self.rules is not None:
            chosen = set(self.rules)
        elif config.model.feed_forward != "some":
            chosen = set[str]()
        else:
            chosen = _trained_with(config)
        return tuple(rule for rule in RULES if rule in chosen)


def _check(field: str, value: float, possible: bool, remedy: str) -> None:
    if not (possible and math.isfinite(value)):
        raise ConfigError(field, value, "cannot be", f"choose {remedy}")


def _trained_with(config: Config) -> set[str]:
    setup = Setup(config.gravity, config.router.centre_queries)
    return {rule.name for rule in ORDER if rule.switch and rule.is_on(setup)}


def gravity_of(config: Config, rules: tuple[str, ...]) -> GravityConfig:
    """The run's gravity with other switches, for keys that move even if the run kept them fixed. Rates are
    still per step."""
    run = config.gravity
    changes: dict[str, Any] = {
        "keys": "moved",
        "every": 1,
        "token_fraction": 1.0,
        "frozen_layers": (False,),
        "extra": {},
    }
    for rule in ORDER:
        changes.update(rule.reading(run, rule.name in rules))
    return GravityConfig.model_validate({**run.model_dump(), **changes})


def steps_per_update(config: Config, every: int) -> float:
    """The number of the run's optimizer steps that have as many tokens as one update."""
    return every / (config.train.batch_size * config.model.seq_len)


def paced(gravity: GravityConfig, pace: float) -> GravityConfig:
    """The rates of one update: this many training steps at once. Moving averages are adjusted to span the
    same text."""
    changes: dict[str, Any] = {}
    for rule in ORDER:
        changes.update(rule.paced(gravity, pace))
    return gravity.model_copy(update=changes)
