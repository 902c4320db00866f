"""Places: the modules of a model to which grown experts add. Named by their path, so that somelab's decoder
and Hugging Face models are served by the same code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from somelab.errors import ConfigError, nearest
from somelab.model.decoder import Decoder
from somelab.model.growth.parts import EmbeddingPart, FeedForwardPart, LinearPart, NormPart
from somelab.model.growth.settings import GrowthSettings

Kind = Literal["feed_forward", "linear", "embedding", "norm", "head", "linear_head"]


@dataclass(frozen=True)
class Place:
    """A module and what is added to its output."""

    path: str
    kind: Kind
    d_in: int
    d_out: int

    def build(self, settings: GrowthSettings, rng: torch.Generator) -> nn.Module | None:
        """A new part, or None where the settings leave it out."""
        match self.kind:
            case "feed_forward":
                return FeedForwardPart(self.d_in, self.d_out, settings.width, rng) if settings.width else None
            case "linear":
                return LinearPart(self.d_in, self.d_out, settings.rank, rng) if settings.rank else None
            case "head" | "linear_head":
                rank = settings.head_rank
                return LinearPart(self.d_in, self.d_out, rank, rng) if rank else None
            case "embedding":
                rank = settings.embedding_rank
                return EmbeddingPart(self.d_in, self.d_out, rank, rng) if rank else None
            case "norm":
                return NormPart(self.d_out) if settings.norms else None


def key_of(place: Place) -> str:
    """The name of a place in a ModuleDict, which allows no dots."""
    return place.path.replace(".", "/")


HUGGING_FACE: tuple[tuple[str, Kind], ...] = (
    (r"(^|\.)(embed_tokens|wte)$", "embedding"),
    (r"\.(q_proj|k_proj|v_proj|o_proj|c_attn)$", "linear"),
    (r"\.mlp$", "feed_forward"),
    (r"(^|\.)(input_layernorm|post_attention_layernorm|ln_1|ln_2|ln_f|norm)$", "norm"),
    (r"(^|\.)lm_head$", "linear_head"),
)
"""Names of modules in Hugging Face's decoders, and what is added there."""


def places_of(model: nn.Module) -> list[Place]:
    """All places that are known in a model: embedding, projections of attention, feed-forward blocks, norms,
    head."""
    return _of_decoder(model) if isinstance(model, Decoder) else _of_hugging_face(model)


def chosen_places(model: nn.Module, patterns: list[str] | None) -> list[Place]:
    """The places whose path matches one of the patterns (regular expressions); None: all."""
    places = places_of(model)
    if patterns is not None:
        for pattern in patterns:
            if not any(re.search(pattern, place.path) for place in places):
                known = [place.path for place in places]
                raise ConfigError("places", pattern, "is no place of this model", nearest(pattern, known))
        places = [place for place in places if any(re.search(one, place.path) for one in patterns)]
    if not places:
        remedy = "use a somelab model, or a Hugging Face decoder with the usual names"
        raise ConfigError("model", type(model).__name__, "has no place where experts could be added", remedy)
    return places


def _of_decoder(model: Decoder) -> list[Place]:
    config = model.config.model
    width, vocabulary = config.d_model, config.vocab_size
    places = [Place("embedding", "embedding", vocabulary, width)]
    for number, block in enumerate(model.blocks):
        name = f"blocks.{number}"
        places += [
            Place(f"{name}.attention.qkv", "linear", width, 3 * width),
            Place(f"{name}.attention.out", "linear", width, width),
            Place(f"{name}.attention_norm", "norm", width, width),
        ]
        if getattr(block, "feed_forward", None) is not None:
            places.append(Place(f"{name}.feed_forward", "feed_forward", width, width))
            places.append(Place(f"{name}.feed_forward_norm", "norm", width, width))
    # The head has no module of its own: its input is the output of the final norm.
    return [*places, Place("final_norm", "head", width, vocabulary)]


def _of_hugging_face(model: nn.Module) -> list[Place]:
    places: list[Place] = []
    for path, module in model.named_modules():
        for pattern, kind in HUGGING_FACE:
            if re.search(pattern, path) and (sizes := _sizes(module, kind)) is not None:
                places.append(Place(path, kind, *sizes))
                break
    return places


def _sizes(module: nn.Module, kind: Kind) -> tuple[int, int] | None:
    """Input and output width of a module; None if it is of another kind than its name says."""
    if isinstance(module, nn.Embedding):
        return (module.num_embeddings, module.embedding_dim) if kind == "embedding" else None
    if kind == "feed_forward":
        inner = [sizes for one in module.modules() if (sizes := _linear_sizes(one)) is not None]
        return (inner[0][0], inner[-1][1]) if inner else None
    if kind == "norm":
        weight = getattr(module, "weight", None)
        return (len(weight), len(weight)) if weight is not None and weight.ndim == 1 else None
    return _linear_sizes(module)


def _linear_sizes(module: nn.Module) -> tuple[int, int] | None:
    if isinstance(module, nn.Linear):
        return module.in_features, module.out_features
    weight = getattr(module, "weight", None)
    if type(module).__name__ == "Conv1D" and isinstance(weight, Tensor):  # GPT-2's linear module, [in, out]
        return weight.shape[0], weight.shape[1]
    return None
