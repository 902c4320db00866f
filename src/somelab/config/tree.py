"""The whole configuration of a run: six groups, frozen, and the rules that span groups."""

from __future__ import annotations

import math

from pydantic import model_validator

from somelab.config.base import Group, refuse
from somelab.config.data import DataConfig
from somelab.config.experts import ExpertsConfig
from somelab.config.gravity import GravityConfig
from somelab.config.model import ModelConfig
from somelab.config.router import RouterConfig
from somelab.config.train import TrainConfig


class Config(Group):
    """All settings of a run: frozen, checked, and complete."""

    model: ModelConfig = ModelConfig()
    """The decoder."""
    experts: ExpertsConfig = ExpertsConfig()
    """The pool of each layer."""
    router: RouterConfig = RouterConfig()
    """How tokens select experts."""
    gravity: GravityConfig = GravityConfig()
    """How keys move."""
    data: DataConfig = DataConfig()
    """The data."""
    train: TrainConfig = TrainConfig()
    """Training."""

    @model_validator(mode="after")
    def _groups_fit(self) -> Config:
        band, top_k = self.router.entropy_band, self.experts.top_k
        if band is not None and band[1] > math.log(top_k):
            # Past e^12 no pool has as many experts, and past e^709 the number does not fit a float.
            raising = (
                f", or raise experts.top_k to {math.ceil(math.exp(band[1]))} or more" if band[1] < 12 else ""
            )
            refuse(
                "router.entropy_band",
                band,
                f"the entropy of {top_k} gates cannot pass ln {top_k} = {math.log(top_k):.3f} nats",
                f"lower the band{raising}",
            )
        if (
            self.gravity.keys == "gradient"
            and self.router.kind == "none"
            and self.router.gates == "softmax"
            and top_k == 1
        ):
            refuse(
                "gravity.keys",
                "gradient",
                "with one expert and softmax gates no gradient reaches the keys",
                "raise experts.top_k or choose router.gates = sigmoid",
            )
        if self.gravity.key_ema and self.gravity.keys == "gradient":
            refuse(
                "gravity.key_ema",
                self.gravity.key_ema,
                "keys trained by gradient are not averaged",
                "set it to 0",
            )
        if self.experts.reads == "query" and self.router.kind == "none":
            refuse(
                "experts.reads",
                "query",
                "with router.kind = none the query is the token itself",
                "set it to token, or choose router.kind = linear or mlp",
            )
        if not self.router.gradient and self.router.kind != "none" and self.experts.reads != "query":
            refuse(
                "router.gradient",
                False,
                f"nothing would train the query network of router.kind = {self.router.kind}",
                "set experts.reads to query, so that the experts' outputs train it, or router.kind to none",
            )
        problem = self.router.key_problem(self.experts.num_experts, self.model.d_model)
        if problem is not None and self.model.feed_forward == "some":
            refuse(*problem)
        if self.data.padding_in_loss and self.data.layout != "pad":
            refuse(
                "data.padding_in_loss",
                True,
                "packed sequences have no padding",
                "set data.layout to pad, or this to false",
            )
        if self.gravity.count_padding and not self.data.padding_in_loss:
            refuse(
                "gravity.count_padding",
                True,
                "padding outside the loss is not computed as text",
                "set data.padding_in_loss to true, or this to false",
            )
        return self
