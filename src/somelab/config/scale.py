"""A configuration scaled down for a smaller machine, by one table for all presets, so that their ratios stay.
Rates, temperatures and thresholds keep their values: a scaled preset is the same experiment in a smaller
model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction as Share
from typing import Any, Literal, get_args

from somelab.config.experts import TRANSFORMS, transform_width
from somelab.config.fields import value_of
from somelab.config.files import override
from somelab.config.tree import Config
from somelab.errors import ConfigError, nearest

ScaleName = Literal["full", "small", "mini", "micro"]

LEAST_HEAD_WIDTH = 24


@dataclass(frozen=True)
class Scale:
    """The factor on each size. Sizes are rounded, have a lower bound, and never grow."""

    width: Share
    """d_model, d_ffn, d_dense; to a multiple of 16."""
    depth: Share
    """num_layers; at least 2."""
    experts: Share
    """num_experts; at least 2."""
    top_k: Share
    """top_k; at least 2 where it was 2 or more, and never above num_experts."""
    seq_len: Share
    """seq_len; to a multiple of 16, at least 32."""
    vocab: Share
    """vocab_size; at least 512."""
    batch: Share
    """batch_size; micro_batch_size becomes a divisor of it."""
    warmup: Share
    """gravity.warmup_steps."""
    train_subset: Share
    """train_subset_size, where it is set."""
    val_subset: Share
    """val_subset_size, where it is set."""
    epochs: float
    """The most epochs, where epochs are what is set; steps and minutes stay."""


SCALES: dict[str, Scale] = {
    "small": Scale(
        width=Share(1, 2),
        depth=Share(3, 4),
        experts=Share(1, 2),
        top_k=Share(1),
        seq_len=Share(1, 2),
        vocab=Share(1),
        batch=Share(1),
        warmup=Share(1, 2),
        train_subset=Share(1),
        val_subset=Share(1, 2),
        epochs=4,
    ),
    "mini": Scale(
        width=Share(3, 8),
        depth=Share(1, 2),
        experts=Share(1, 2),
        top_k=Share(1),
        seq_len=Share(1, 3),
        vocab=Share(1, 2),
        batch=Share(1, 2),
        warmup=Share(1, 4),
        train_subset=Share(1, 2),
        val_subset=Share(1, 4),
        epochs=2,
    ),
    "micro": Scale(
        width=Share(1, 4),
        depth=Share(1, 4),
        experts=Share(1, 4),
        top_k=Share(1, 2),
        seq_len=Share(1, 6),
        vocab=Share(1, 4),
        batch=Share(1, 2),
        warmup=Share(1, 8),
        train_subset=Share(1, 2),
        val_subset=Share(1, 4),
        epochs=1,
    ),
}


def scaled(config: Config, name: str) -> Config:
    """The configuration at a scale: full (as it is), small, mini or micro."""
    if name == "full":
        return config
    if name not in SCALES:
        raise ConfigError("scale", name, "is not a scale", nearest(name, get_args(ScaleName)))
    scale = SCALES[name]
    num_experts = _part(config.experts.num_experts, scale.experts, least=2)
    top_k = min(num_experts, _part(config.experts.top_k, scale.top_k, least=2))
    width = _part(config.model.d_model, scale.width, multiple=16, least=16)
    batch = _part(config.train.batch_size, scale.batch)
    settings: dict[str, Any] = {
        "model.d_model": width,
        "model.num_heads": _heads(config.model.num_heads, width),
        "model.num_layers": _part(config.model.num_layers, scale.depth, least=2),
        "model.seq_len": _part(config.model.seq_len, scale.seq_len, multiple=16, least=32),
        "model.vocab_size": _part(config.model.vocab_size, scale.vocab, least=512),
        "experts.num_experts": num_experts,
        "experts.top_k": top_k,
        "experts.d_ffn": _expert_width(config, scale, width),
        "router.entropy_band": _band(config, top_k),
        "gravity.warmup_steps": _part(config.gravity.warmup_steps, scale.warmup, least=0),
        "train.batch_size": batch,
    }
    if config.model.embedding_std == inverse_root(config.model.d_model):
        settings["model.embedding_std"] = inverse_root(width)
    if config.train.micro_batch_size is not None:
        settings["train.micro_batch_size"] = _divisor(batch, config.train.micro_batch_size)
    if config.train.epochs is not None:
        settings["train.epochs"] = min(config.train.epochs, scale.epochs)
    optional = {
        "model.d_dense": (scale.width, 16),
        "data.train_subset_size": (scale.train_subset, 1),
        "data.val_subset_size": (scale.val_subset, 1),
    }
    for field, (share, multiple) in optional.items():
        size = value_of(config, field)
        if size is not None:
            settings[field] = _part(size, share, multiple, least=multiple)
    return override(config, settings)


def inverse_root(width: int) -> float:
    """1 / sqrt(D), to three digits: a standard deviation of embeddings."""
    return float(f"{width**-0.5:.3g}")


def _part(size: int, share: Share, multiple: int = 1, least: int = 1) -> int:
    """That share of a size: to the nearest multiple (halves up), at least `least`, at most the size
    itself."""
    rounded = math.floor(size * share / multiple + Share(1, 2)) * multiple
    return size if share == 1 else min(size, max(rounded, least))


def _expert_width(config: Config, scale: Scale, width: int) -> int:
    """d_ffn: to a multiple of 16; where experts are blocks of a transform, to a multiple of its width."""
    part = _part(config.experts.d_ffn, scale.width, multiple=16, least=16)
    if config.experts.family not in TRANSFORMS:
        return part
    block = transform_width(width)
    return max(block, part // block * block)


def _heads(num_heads: int, width: int) -> int:
    """The head count, halved until a head is wide enough and of even width; if halving fails, the next
    divisor below."""
    halvings = [num_heads >> times for times in range(num_heads.bit_length() - 1)]
    for heads in [*halvings, *range(num_heads, 1, -1)]:
        if width % heads == 0 and width // heads >= LEAST_HEAD_WIDTH and (width // heads) % 2 == 0:
            return heads
    return 1


def _divisor(size: int, most: int) -> int:
    return next(number for number in range(min(size, most), 0, -1) if size % number == 0)


def _band(config: Config, top_k: int) -> tuple[float, float] | None:
    """The entropy band, scaled with ln K if fewer experts per token can no longer reach it."""
    band, ceiling = config.router.entropy_band, math.log(top_k)
    if band is None or band[1] <= ceiling:
        return band
    share = ceiling / math.log(config.experts.top_k)
    return band[0] * share, min(band[1] * share, ceiling)
