"""What may move while a model reads, how fast and how far: the settings of adaptive evaluation, and the gravity they imply.
The rules are the core's own; only their pace is restated, from optimizer steps to tokens of a stream."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from somelab.config import Config, GravityConfig
from somelab.errors import ConfigError, nearest

GRAVITY_RULES = ("attraction", "credit", "peer_pull", "repulsion", "decay", "respawn", "load_bias", "centring")
"""Rules of the core, each switchable here whether or not the run was trained with it."""
OTHER_RULES = ("temperature", "gain", "memory", "cache")
"""What else can move without gradients: gate temperatures, a gain per expert, a memory of words for each expert, and, as a
yardstick that is no part of SoME, one memory of words for all."""
RULES = (*GRAVITY_RULES, *OTHER_RULES)
SCHEDULES = ("constant", "sqrt", "burst")
MASKS = ("all", "surprising", "none")
KEPT = {*GRAVITY_RULES}
"""Rules whose work a checkpoint has a place for."""

# Rates of rules that the run was trained without.
USUAL_LOAD_BIAS, USUAL_REPULSION, USUAL_PERCENTILE = 0.001, 0.01, 0.05
USUAL_CREDIT = 0.01
"""Step of credit while reading, whatever it was in training, where it falls from a first step to a last."""


@dataclass(frozen=True)
class AdaptationSettings:
    """How keys (and what else is named in `rules`) move while reading."""

    rules: tuple[str, ...] | None = None
    """Which rules act, of RULES; none of them: keys stay frozen. None: those of gravity that the run was trained with."""
    rate: float = 1.0
    """Pace of all rules; 1: as in training, counted per token."""
    schedule: str = "constant"
    """constant | sqrt: the pace falls with 1/sqrt(update) | burst: the same, starting anew at each detected shift."""
    trust_region: float | None = 0.5
    """How far a key may be from its place in the checkpoint (its length there is usually 1). None: no bound."""
    reversion: float = 0.0
    """Share of its way home that a key goes at every update."""
    every: int = 4096
    """Counted tokens between updates: a sequence is read to its end, then, if so many have been read, keys move."""
    mask: str = "all"
    """Which tokens move keys: all | surprising: loss above the running median | none."""

    def __post_init__(self) -> None:
        for rule in self.rules or ():
            if rule not in RULES:
                raise ConfigError("rules", rule, "is not a rule of adaptation", nearest(rule, RULES))
        if {"memory", "cache"} <= set(self.rules or ()):
            raise ConfigError("rules", "memory,cache", "are one memory by expert and one for all", "choose one of them")
        for name, known in (("schedule", SCHEDULES), ("mask", MASKS)):
            if getattr(self, name) not in known:
                raise ConfigError(name, getattr(self, name), "is not one", nearest(str(getattr(self, name)), known))
        _check("rate", self.rate, self.rate >= 0, "0 or more")
        _check("reversion", self.reversion, 0 <= self.reversion <= 1, "a value from 0 to 1")
        if self.trust_region is not None:
            _check("trust_region", self.trust_region, self.trust_region >= 0, "0 or more, or None for no bound")
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
    gravity = config.gravity
    on = {
        "attraction": gravity.attraction,
        "credit": gravity.credit > 0,
        "peer_pull": gravity.peer_pull,
        "repulsion": gravity.repulsion > 0,
        "decay": gravity.decay,
        "respawn": gravity.respawn,
        "load_bias": gravity.load_bias > 0,
        "centring": config.router.centre_queries,
    }
    return {rule for rule, is_on in on.items() if is_on}


def gravity_of(config: Config, rules: tuple[str, ...]) -> GravityConfig:
    """The run's gravity with other switches, for keys that move whatever the run did with them. Rates are still per step."""
    run = config.gravity
    changes: dict[str, Any] = {
        "keys": "moved",
        "attraction": "attraction" in rules,
        "credit": USUAL_CREDIT if "credit" in rules else 0.0,
        "credit_final": None,
        "peer_pull": "peer_pull" in rules,
        "beta": run.beta if run.beta_final is None else run.beta_final,
        "beta_final": None,
        "repulsion": (run.repulsion or USUAL_REPULSION) if "repulsion" in rules else 0.0,
        "decay": "decay" in rules,
        "theta_percentile": USUAL_PERCENTILE,
        "theta": None,
        "respawn": "respawn" in rules,
        "load_bias": (run.load_bias or USUAL_LOAD_BIAS) if "load_bias" in rules else 0.0,
        "usage": "ema",
        "warmup_steps": 0,
        "every": 1,
        "token_fraction": 1.0,
        "frozen_layers": (False,),
        "extra": {},
    }
    if run.theta_percentile is not None:
        changes["theta_percentile"] = run.theta_percentile
    return GravityConfig.model_validate({**run.model_dump(), **changes})


def steps_per_update(config: Config, every: int) -> float:
    """How many of the run's optimizer steps read as many tokens as pass between two updates."""
    return every / (config.train.batch_size * config.model.seq_len)


def paced(gravity: GravityConfig, pace: float) -> GravityConfig:
    """The rates of one update: so many training steps at once. Memories shorten with it, so that they span the same text."""
    return gravity.model_copy(
        update={
            "alpha": gravity.alpha * pace,
            "credit": gravity.credit * pace,
            "beta": gravity.beta * pace,
            "repulsion": gravity.repulsion * pace,
            "delta": min(1.0, gravity.delta * pace),
            "load_bias": gravity.load_bias * pace,
            "ema_decay": gravity.ema_decay**pace,
        }
    )
