"""What is counted of a configuration, and the counts of all presets on record (`counts.json`), so that they
are listed without torch. The record is found when it is read: an exported model has this module, and no file.

`somelab.model.count` counts; `python -m somelab.model.recorded` writes the record, and a test compares
them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from somelab.config.files import digest_of_changes
from somelab.config.tree import Config


@dataclass(frozen=True)
class ParameterCount:
    total: int
    """All weights, trained and frozen. Keys are buffers and do not count unless trained by gradient."""
    trainable: int
    frozen: int
    active: int
    """Weights that one token uses: all but the pools, and K experts of each pool."""
    bytes: int
    """Weights and buffers as stored."""
    flops_per_token: int
    """Forward FLOPs per token, 2 x multiply-adds of the matrix products (norms, activations and softmax left
    out):

    - every linear layer once: attention's four D*D, the query network, the dense block or the learned router;
    - attention: scores and mixture over a mean causal length of T/2 at the trained length T, D*T/2 each per
      layer;
    - router scores: E*D per SoME layer, D the width of the keys; product keys: sqrt(E)*D;
    - experts: `num_products` of their family, for dense ones K * 2*D*F per pool;
    - the head: V*D. The embedding lookup counts as 0."""


def recorded(config: Config) -> ParameterCount | None:
    """The counts on record of exactly this configuration."""
    found = _record().get(digest_of_changes(config))
    return None if found is None else ParameterCount(**found)


def record_file() -> Path:
    """Where the package has the record."""
    return Path(__file__).with_name("counts.json")


@lru_cache
def _record() -> dict[str, dict[str, int]]:
    return json.loads(record_file().read_text(encoding="utf-8"))
