"""The settings that all arms of the ledger share beside their scale, so that they differ only in the subject
of a claim. The sizes are those of `--scale`; the length of a run, its text and its layout are set here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from somelab.config import Config, override, preset, scaled
from somelab.config.experts import transform_width
from somelab.config.fields import value_of
from somelab.experiments.sweeps.matching import matched_gain

LedgerScale = Literal["micro", "mini"]
Value = Callable[[Config], Any]
Settings = Mapping[str, Any]
"""Dotted settings; a value may be a function of the common configuration."""

# A million tokens, less than one pass over the stories, and four times as many: an effect that shrinks from
# one to the other is speed of learning.
LedgerLength = Literal["short", "long"]
NUM_STEPS: dict[LedgerLength, int] = {"short": 500, "long": 2000}
STEP_TOKENS = 2048


def num_tokens(length: LedgerLength) -> int:
    """What an arm of the ledger is trained on."""
    return NUM_STEPS[length] * STEP_TOKENS


# Learning rates are searched on the grid 1e-3 x 2^(i/2), per arm, scale and length
# (`somelab.experiments.tuning`). The search begins here; an arm that has not been tuned has these rates.
ANCHOR = 1e-3
FIRST_RATES: dict[LedgerScale, int] = {"micro": 10, "mini": 8}
"""Index on that grid: 3.2e-2 and 1.6e-2."""


# The presets were mended after arms had been judged with them. The arms keep what they were judged with, so
# that the record stays theirs: how weights start, and the settings that were filled otherwise.
AS_JUDGED: dict[str, Any] = {
    "model.attention_init": "linear",
    "router.init": "linear",
    "router.temperature_over_run": None,
    "train.betas": (0.9, 0.95),
}
BEFORE_MENDING: dict[str, dict[str, Any]] = {
    "v3.5": {
        "model.d_model": 512,
        "model.num_layers": 10,
        "model.num_heads": 8,
        "router.kind": "mlp",
        "data.val_subset_size": 4_000,
    }
}


def shell(preset_name: str, scale: LedgerScale, source: str, length: LedgerLength = "short") -> Config:
    """A preset at a scale, on packed text without padding, all stories, evaluated at its training
    temperature."""
    start = override(preset(preset_name).config, {**AS_JUDGED, **BEFORE_MENDING.get(preset_name, {})})
    smaller, steps = scaled(start, scale), NUM_STEPS[length]
    common = {
        "data.source": source,
        "data.layout": "pack",
        "data.train_subset_size": None,
        "data.val_subset_size": 500,
        "router.eval_temperature": None,
        "train.steps": steps,
        "train.batch_size": STEP_TOKENS // smaller.model.seq_len,
        "train.learning_rate": ANCHOR,
        # `auto` would be bf16 on some machines: runs of one ledger have to be alike.
        "train.precision": "fp32",
        # At 4 % and 10 % one seed in four started badly at an arm's best rate and ended 0.1 nats behind; at
        # 20 % none.
        "train.warmup_fraction": 0.2,
        # Each evaluation during training costs a checkpoint and a sample.
        "train.eval_every": steps // 4,
    }
    return override(smaller, common)


def resolved(config: Config, settings: Settings) -> Config:
    """The configuration with settings inserted; functions get the original."""
    return override(
        config, {name: value(config) if callable(value) else value for name, value in settings.items()}
    )


@dataclass(frozen=True)
class Times:
    """A multiple of the common value, so that an arm means the same at every scale."""

    name: str
    factor: float

    def __call__(self, config: Config) -> Any:
        value = value_of(config, self.name)
        return round(value * self.factor) if isinstance(value, int) else value * self.factor


def times(factor: float, *names: str) -> dict[str, Value]:
    """Several settings by one factor."""
    return {name: Times(name, factor) for name in names}


def gain_for(init: str) -> Value:
    """The output gain at which another initialiser's outputs have the same rms."""
    return lambda config: matched_gain(config, init)


def dense_width(config: Config) -> int:
    """The width at which a dense block trains as many weights as the SoME layer."""
    from somelab.model.count import equal_dense_width

    return equal_dense_width(config)


def dense_width_of(settings: Settings) -> Value:
    """The same with these settings inserted."""
    return lambda config: dense_width(resolved(config, settings))


def widths(multiple: float) -> Value:
    """A width as a multiple of the model's."""
    return lambda config: round(multiple * config.model.d_model)


def block_width(config: Config) -> int:
    """Hidden units of an expert that is one block of a transform."""
    return transform_width(config.model.d_model)


def active_width(config: Config) -> int:
    """The hidden units active for a token: the width at which one expert costs as much as K."""
    return config.experts.top_k * config.experts.d_ffn


def middle_band(config: Config) -> tuple[float, float]:
    """Half to 85 % of the entropy that K gates can have: below uniform gates, above a single gate."""
    most = math.log(config.experts.top_k)
    return float(f"{0.5 * most:.3g}"), float(f"{0.85 * most:.3g}")
