"""Replace the feed-forward blocks of any model, from torch or Hugging Face, by SoME layers of the right
width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from somelab.errors import ConfigError, nearest
from somelab.library.layer import SomeLayer

if TYPE_CHECKING:
    from somelab.config import ExpertsConfig, GravityConfig, RouterConfig

MOST_NAMED = 6


def graft(
    model: nn.Module,
    where: str | Sequence[str],
    *,
    experts: ExpertsConfig | Mapping[str, Any] | None = None,
    router: RouterConfig | Mapping[str, Any] | None = None,
    gravity: GravityConfig | Mapping[str, Any] | None = None,
    d_model: int | None = None,
    seed: int = 0,
) -> list[SomeLayer]:
    """Replace the modules whose names match by SoME layers, in place; returns the layers, from first to last.

        somelab.graft(model, "transformer.h.*.mlp")               # GPT-2
        somelab.graft(model, "model.layers.*.mlp", experts={"num_experts": 64})      # Llama and similar

    `where`: a name of `model.named_modules()`, in which * stands for any part of it, or several. A module is
    replaced that takes a tensor [..., D] and returns one. D is the width of its first linear map, unless
    `d_model` is given. Each layer takes over device and floating-point type; keys stay fp32. Settings as for
    `SomeLayer`."""
    patterns = [where] if isinstance(where, str) else list(where)
    names = [name for name, _ in model.named_modules() if name and _is_outermost(name, patterns)]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigError("where", pattern, "matches no module of this model", _remedy(model, pattern))
    found = [(name, model.get_submodule(name)) for name in names]
    widths = [d_model or _width(name, module) for name, module in found]
    made: list[SomeLayer] = []
    for number, ((name, module), width) in enumerate(zip(found, widths)):
        layer = SomeLayer(width, experts, router, gravity, layer=number, num_layers=len(found), seed=seed)
        if (like := next(_floats(module), None)) is not None:
            layer.to(device=like.device, dtype=like.dtype)
        layer.train(module.training)
        parent, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(parent), attribute, layer)
        made.append(layer)
    return made


def _is_outermost(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name matches, and none of its parents does: * also matches dots, as in `h.*`."""
    parts = name.split(".")
    matching = [
        any(fnmatchcase(".".join(parts[:end]), one) for one in patterns) for end in range(1, len(parts) + 1)
    ]
    return matching[-1] and not any(matching[:-1])


def _width(name: str, module: nn.Module) -> int:
    """The width of the input of a module: that of the first linear map in it, in the order of definition."""
    for part in module.modules():
        if isinstance(part, nn.Linear):
            return part.in_features
        if type(part).__name__ == "Conv1D" and isinstance(weight := getattr(part, "weight", None), Tensor):
            return weight.shape[0]  # Hugging Face's linear map with its weight transposed, as in GPT-2
        if isinstance(part, SomeLayer):
            return part.d_model
    problem = f"{type(module).__name__} has no linear map that gives its width"
    raise ConfigError("where", name, problem, "give d_model, the last size of the tensor that it takes")


def _floats(module: nn.Module) -> Any:
    return (weight for weight in module.parameters() if torch.is_floating_point(weight))


def _remedy(model: nn.Module, pattern: str) -> str:
    names = [name for name, module in model.named_modules() if name and any(True for _ in module.children())]
    close = nearest(pattern, names)
    some = ", ".join(names[:MOST_NAMED])
    return close if close.startswith("did you mean") else f"its modules are {some}, ..."
