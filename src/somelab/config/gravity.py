"""Knowledge Gravity: the local rules that move the keys, each with its rate and its switch. See
docs/concepts."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import model_validator

from somelab.config.base import Count, Decay, Fraction, Group, Positive, Rate, Whole, refuse


class GravityConfig(Group):
    keys: Literal["moved", "fixed", "gradient"] = "moved"
    """moved: by the rules below; fixed: random keys that never move; gradient: keys are trained
    parameters."""

    attraction: bool = True
    """Switch of rule alpha: a key moves towards the mean of the queries that selected it."""
    alpha: Rate = 0.01
    """Rate of attraction."""
    alpha_floor: Rate = 0.0
    """Least rate of a key that was selected in this step, independent of its usage (about 0.005)."""
    attraction_by: Literal["all", "winner", "gate"] = "all"
    """Which of its K experts' keys a query attracts: all equally, the best one only, or each by its gate."""
    credit: Rate = 0.0
    """Step size of credit: a key moves towards queries for which its expert's output reduced the loss more
    than the other selected experts' did, and away from those for which it did less. 0: off."""
    credit_final: Rate | None = None
    """Anneal credit linearly over the run to this value. None: constant."""
    credit_from: Literal["broadcast", "backward"] = "broadcast"
    """Which error credit compares an expert's output with: the head's, the same for all layers, so that no
    gradient passes through a layer; or the gradient of the loss at the layer's own output."""
    credit_scale: Literal["direction", "signal"] = "direction"
    """How far credit moves a key: the whole step, or the share of it that is signal and not noise."""

    peer_pull: bool = True
    """Switch of rule beta: keys selected together move towards each other."""
    beta: Rate = 0.001
    """Rate of peer-pull."""
    beta_final: Rate | None = None
    """Anneal beta linearly over the run to this value (3e-3 -> 5e-4 in the reports). None: constant."""
    beta_layers: tuple[Rate, ...] = (1.0,)
    """Factors on beta over the depth: n values cover the layers in n equal parts; (1, 0.5) halves it in the
    second half (D1)."""
    inertia: Literal["min", "max"] = "max"
    """Which usage of a pair is its inertia: the smaller or the larger."""
    pull_until_cosine: float | None = None
    """No pull between keys whose cosine is above this. None: no limit (keys fuse)."""
    repulsion: Rate = 0.0
    """Rate at which keys closer than repulsion_distance push each other apart. 0: off."""
    repulsion_distance: Positive = 0.5
    """Distance below which keys repel."""

    usage: Literal["ema", "cumulative"] = "ema"
    """Usage as a moving average of counts, or their sum since the start (v1)."""
    ema_decay: Decay = 0.99
    """Decay factor of the moving averages (r)."""
    norm: Literal["unit", "unit_used", "clamp", "none"] = "unit"
    """Length of keys after they moved: all to 1; only those used in this step; only those above 1; as they
    are."""

    decay: bool = True
    """Switch of rule delta: keys of rarely used experts shrink."""
    delta: Fraction = 0.001
    """Share of its length that such a key loses per step."""
    theta: Rate | None = None
    """Usage below which a key shrinks, absolute (200 in the first series). Not together with
    theta_percentile."""
    theta_percentile: Fraction | None = 0.05
    """The same as a quantile of the non-zero usages, between 0 and 1."""
    warmup_steps: Whole = 400
    """Steps before decay begins."""

    respawn: bool = False
    """Switch of respawn: a key shorter than respawn_threshold is reset to a query of this step, and its usage
    to 0."""
    respawn_threshold: Rate = 0.1
    """Length below which a key is respawned."""
    respawn_noise: Rate = 0.01
    """Standard deviation of the noise added to that query."""

    load_bias: Rate = 0.0
    """Step of a gradient-free offset on the scores used for selection (not for gates): up for under-used
    experts, down for over-used ones."""
    max_step: Positive | None = None
    """Cap on how far attraction, peer-pull and repulsion may move a key in one step. None: no cap."""
    key_ema: Decay = 0.0
    """Route by a moving average of the keys with this decay factor. 0: by the keys themselves."""
    every: Count = 1
    """Apply the rules at every n-th step; statistics are collected in that step only."""
    count_padding: bool = False
    """Let padding enter the statistics too, so that it moves keys and counts as usage, as in v1-v4. Only with
    data.padding_in_loss."""
    token_fraction: Positive = 1.0
    """Share of the tokens that enter the statistics, drawn anew each step."""
    frozen_layers: tuple[bool, ...] = (False,)
    """Layers whose keys never move, by depth like beta_layers: (false, true) freezes the second half (D2)."""
    pairs: Literal["auto", "dense", "sparse"] = "auto"
    """How pairs selected together are stored: an E x E table, or a list of the pairs that occurred. auto: a
    list above 2,048 experts."""
    extra: dict[str, float] = {}
    """Rates of rules that are not part of somelab, by the name that the rule declares. See CONTRIBUTING."""

    @model_validator(mode="after")
    def _possible(self) -> GravityConfig:
        if self.theta is not None and self.theta_percentile is not None:
            refuse(
                "theta",
                self.theta,
                f"theta_percentile = {self.theta_percentile} is set too",
                "set one of them to null",
            )
        if self.decay and self.theta is None and self.theta_percentile is None:
            refuse(
                "theta_percentile",
                None,
                "decay is on and has no threshold",
                "set theta or theta_percentile, or decay to false",
            )
        if self.token_fraction > 1:
            refuse(
                "token_fraction",
                self.token_fraction,
                "is more than all tokens",
                "choose a value above 0 and up to 1",
            )
        if self.warmup_steps < 0:
            refuse("warmup_steps", self.warmup_steps, "is negative", "choose 0 or more")
        if self.pull_until_cosine is not None and not -1 <= self.pull_until_cosine <= 1:
            refuse(
                "pull_until_cosine",
                self.pull_until_cosine,
                "is not a cosine",
                "choose a value from -1 to 1, or null",
            )
        for name, rate in self.extra.items():
            if not math.isfinite(rate):
                refuse(f"extra.{name}", rate, "is not a finite number", "give a number")
        for name in ("beta_layers", "frozen_layers"):
            if not getattr(self, name):
                refuse(name, (), "is empty", "give at least one value; it covers all layers")
        return self
