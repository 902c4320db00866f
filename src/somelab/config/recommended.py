"""The recommended settings of a single layer: the parts of the preset `some`, at the layer's width."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from somelab.config.experts import ExpertsConfig, transform_width
from somelab.config.files import override
from somelab.config.gravity import GravityConfig
from somelab.config.presets.recipe import CREDIT, MODULATED, PARTS
from somelab.config.router import RouterConfig
from somelab.config.tree import Config
from somelab.errors import ConfigError

NUM_EXPERTS = 128


def recommended(d_model: int) -> Config:
    """A configuration whose groups `experts`, `router` and `gravity` fit a layer of this width in any model.

    Credit uses the gradient of the layer's output, so that the model around it needs no code for it."""
    if d_model < 1:
        raise ConfigError("d_model", d_model, "is not a width", "give the width of the model, 1 or more")
    sizes = {"experts.num_experts": NUM_EXPERTS, "experts.d_ffn": transform_width(d_model)}
    return override(Config(), {**PARTS, **CREDIT, **MODULATED, **sizes, "gravity.credit_from": "backward"})


def layer_settings(
    d_model: int,
    experts: ExpertsConfig | Mapping[str, Any] | None,
    router: RouterConfig | Mapping[str, Any] | None,
    gravity: GravityConfig | Mapping[str, Any] | None,
) -> tuple[ExpertsConfig, RouterConfig, GravityConfig]:
    """The three groups of a layer. Each is given whole, as changes to the recommended settings, or not at
    all."""
    if (
        isinstance(experts, ExpertsConfig)
        and isinstance(router, RouterConfig)
        and isinstance(gravity, GravityConfig)
    ):
        return experts, router, gravity
    given = {"experts": experts, "router": router, "gravity": gravity}
    whole, changes = dict[str, Any](), dict[str, Any]()
    for group, settings in given.items():
        if isinstance(settings, Mapping):
            changes.update({f"{group}.{name}": value for name, value in settings.items()})
        elif settings is not None:
            whole[group] = settings
    start, number = recommended(d_model), changes.get("experts.num_experts")
    if isinstance(number, int) and 0 < number < start.experts.top_k:
        changes = {"experts.top_k": number, **changes}
    config = override(start.model_copy(update=whole), changes)
    return config.experts, config.router, config.gravity
