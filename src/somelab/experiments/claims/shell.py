"""The shell of the ledger: what all arms share beside their scale, so that they differ in what a claim is about, and in no more.
The sizes are those of `--scale`; the length of a run, its text and its layout are set here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from somelab.config import Config, override, preset, scaled
from somelab.config.fields import value_of
from somelab.experiments.matching import matched_gain

LedgerScale = Literal["micro", "mini"]
Value = Callable[[Config], Any]
Settings = Mapping[str, Any]
"""Dotted settings; a value may be a function of the shell's configuration."""

# A million tokens at either scale, less than one pass over the stories.
NUM_STEPS: dict[str, int] = {"micro": 500, "mini": 500}
STEP_TOKENS = 2048

# Narrow models want a higher rate than the published 6e-4, at which a micro model without any feed-forward layer ends a million
# tokens at a loss of 4.89 in place of 4.22: too little learned to tell arms apart.
LEARNING_RATE: dict[str, float] = {"micro": 2e-3, "mini": 1.5e-3}


def shell(preset_name: str, scale: LedgerScale, source: str) -> Config:
    """A preset at a scale, on packed text without padding, all stories, evaluated at its training temperature."""
    smaller, steps = scaled(preset(preset_name).config, scale), NUM_STEPS[scale]
    common = {
        "data.source": source,
        "data.layout": "pack",
        "data.train_subset_size": None,
        "data.val_subset_size": 500,
        "router.eval_temperature": None,
        "train.steps": steps,
        "train.batch_size": STEP_TOKENS // smaller.model.seq_len,
        "train.learning_rate": LEARNING_RATE[scale],
        "train.warmup_fraction": 0.04,
        # Two looks on the way suffice for the journal; each costs a checkpoint and a sample.
        "train.eval_every": steps // 2,
    }
    return override(smaller, common)


def resolved(config: Config, settings: Settings) -> Config:
    """The configuration with settings put in; functions see it as it was."""
    return override(config, {name: value(config) if callable(value) else value for name, value in settings.items()})


@dataclass(frozen=True)
class Times:
    """A multiple of what the shell has, so that an arm means the same at every scale."""

    name: str
    factor: float

    def __call__(self, config: Config) -> Any:
        value = value_of(config, self.name)
        return round(value * self.factor) if isinstance(value, int) else value * self.factor


def times(factor: float, *names: str) -> dict[str, Value]:
    """Several settings by one factor."""
    return {name: Times(name, factor) for name in names}


def gain_for(init: str) -> Value:
    """The output gain at which another initialiser's experts answer as loudly as the shell's."""
    return lambda config: matched_gain(config, init)


def dense_width(config: Config) -> int:
    """The width at which a dense block trains as many weights as the shell's SoME layer."""
    from somelab.model.count import equal_dense_width

    return equal_dense_width(config)


def dense_width_of(settings: Settings) -> Value:
    """The same for the shell with these settings put in."""
    return lambda config: dense_width(resolved(config, settings))


def active_width(config: Config) -> int:
    """The hidden units that answer a token: what one expert needs to cost as much as the shell's K."""
    return config.experts.top_k * config.experts.d_ffn


def middle_band(config: Config) -> tuple[float, float]:
    """Half to 85 % of the entropy that K gates can have: below uniform gates, above a single one."""
    most = math.log(config.experts.top_k)
    return float(f"{0.5 * most:.3g}"), float(f"{0.85 * most:.3g}")
