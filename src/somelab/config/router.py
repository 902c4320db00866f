"""How a token selects its experts: the query network, the scores, the gates."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import model_validator

from somelab.config.base import Decay, Fraction, Group, Positive, Rate, Size, refuse

WIDEST = 1024
FLAT_UP_TO = 16384
"""Experts up to which `keys = auto` compares every key."""


class RouterConfig(Group):
    kind: Literal["none", "linear", "mlp"] = "linear"
    """Query network: linear D->D; mlp D->width*D->D with GELU; none: the token state is the query, and only
    gravity adapts the routing."""
    width: Positive = 2.0
    """Hidden width of the mlp as a multiple of d_model."""
    init: Literal["linear", "normal"] = "linear"
    """How the query network starts. linear: as nn.Linear; normal: N(0, 0.02) with biases 0 (v5 to v7)."""
    precision: Literal["model", "fp32"] = "model"
    """Compute type of the query network: the model's, or fp32 where the rest runs in bf16. Scores are fp32 in
    both."""
    dropout: Decay = 0.0
    """Dropout on the query network's hidden layer (mlp) or output (linear), in training."""
    keys: Literal["auto", "flat", "product"] = "auto"
    """flat: every expert has a key of its own, and a query is compared with all of them. product: an expert's
    key is a pair of sub-keys, one of sqrt(E) for each half of the query; the K nearest pairs are found
    exactly with 2 sqrt(E) comparisons, and the rules move sub-keys. auto: product above 16,384 experts."""
    key_dim: Size | None = None
    """Width of the keys: a trained matrix maps the query to it, after the query network. Narrow keys make the
    search and the rules cheaper. None: d_model."""
    scoring: Literal["cosine", "dot"] = "cosine"
    """cosine: the query has length 1; dot: it is used raw. Keys keep their own length in both, so decayed
    keys score low."""
    gates: Literal["softmax", "sigmoid"] = "softmax"
    """softmax over the K selected scores, or sigmoid gates that carry magnitude: 2 sigmoid(s / temperature) /
    K each."""
    temperature: Positive = 1.0
    """Divides the scores before the gates, in training."""
    eval_temperature: Positive | None = None
    """The same in evaluation. None: the training temperature (the learned one, where it is learned)."""
    temperature_over_run: tuple[Positive, ...] | None = None
    """Temperatures of training, in place of `temperature`: n values cover the steps in n equal parts, so that
    with n epochs each has its own (v3.5: 2, 1.5). Evaluation without eval_temperature takes the last."""
    learnable_temperature: bool = False
    """Train the temperature, one per layer, starting from `temperature`."""
    entropy_band: tuple[float, float] | None = None
    """Target range of the mean gate entropy in nats, e.g. 0.5,1.2. At most ln(top_k)."""
    entropy_band_weight: Rate = 0.01
    """Weight of the squared distance to that band in the loss."""
    top_k_warmup: Fraction = 0.0
    """Share of the steps, from the start, that run with one expert per token."""
    top_k_ramp: Fraction = 0.0
    """Share of the steps after that over which K rises from 1 to top_k."""
    grounding: Rate = 0.0
    """Share of the previous layer's query added to this layer's (study D3: 0.1)."""
    centre_queries: bool = False
    """Subtract a running mean from the queries before they are normalised."""
    gradient: bool = True
    """Let gradients flow from the gates back into the queries. If off, only gravity adapts the routing."""
    balance_loss: Rate = 0.0
    """Coefficient of the classic load-balancing loss E * sum(load share * mean probability). For moe, 0.01 is
    usual."""

    def has_product_keys(self, num_experts: int) -> bool:
        """Whether the keys of a pool of this size are pairs of sub-keys."""
        return self.keys == "product" or (self.keys == "auto" and num_experts > FLAT_UP_TO)

    def key_problem(self, num_experts: int, d_model: int) -> tuple[str, object, str, str] | None:
        """Field, value, problem and remedy if a pool of this size and width cannot have these keys."""
        if not self.has_product_keys(num_experts):
            if self.balance_loss and num_experts > FLAT_UP_TO:
                problem = f"needs the scores of all {num_experts:,} experts for every token"
                return (
                    "router.balance_loss",
                    self.balance_loss,
                    problem,
                    "set it to 0, or router.keys to product",
                )
            return None
        root = math.isqrt(num_experts)
        if root * root != num_experts:
            why = "" if self.keys == "product" else f" (router.keys = auto above {FLAT_UP_TO:,} experts)"
            remedy = f"choose {root**2:,} or {(root + 1) ** 2:,}, or set router.keys to flat"
            return (
                "experts.num_experts",
                num_experts,
                f"is not a square, which product keys need{why}",
                remedy,
            )
        width = self.key_dim or d_model
        if width % 2:
            problem = "has no two halves, which product keys need"
            remedy = "choose an even width, or set router.keys to flat"
            return "router.key_dim" if self.key_dim else "model.d_model", width, problem, remedy
        return None

    @model_validator(mode="after")
    def _possible(self) -> RouterConfig:
        if self.width > WIDEST:
            refuse("width", self.width, f"is more than {WIDEST}", "choose a smaller one")
        if self.entropy_band is not None:
            low, high = self.entropy_band
            if not 0 <= low < high:
                refuse(
                    "entropy_band",
                    self.entropy_band,
                    "is not an increasing range",
                    "give 0 <= low < high, e.g. 0.5,1.2",
                )
        if self.temperature_over_run is not None and (
            self.learnable_temperature or not self.temperature_over_run
        ):
            refuse(
                "temperature_over_run",
                self.temperature_over_run,
                "is empty, or the temperature is learned",
                "give at least one value and set learnable_temperature to false, or set this to null",
            )
        if self.top_k_warmup + self.top_k_ramp > 1:
            refuse(
                "top_k_ramp",
                self.top_k_ramp,
                f"with top_k_warmup = {self.top_k_warmup} it would end after the run",
                "make the two add up to at most 1",
            )
        return self
