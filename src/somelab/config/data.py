"""What is read: source, share of it, and how documents become sequences."""

from __future__ import annotations

from typing import Literal

from somelab.config.base import Count, Group


class DataConfig(Group):
    source: str = "builtin"
    """builtin | tinystories | a .txt, .jsonl or .parquet file or folder | the name of a Hub dataset with a text column."""
    train_subset_size: Count | None = None
    """Documents used for training. None: all."""
    val_subset_size: Count | None = None
    """Documents used for validation. None: all that are held out."""
    layout: Literal["pack", "pad"] = "pack"
    """pack: documents end to end, each attending to itself only, nothing computed on padding; pad: one document a sequence, as the seeds."""
    padding_in_loss: bool = False
    """Count padding in the loss (v1-v4 did; it makes perplexity look like 2). Only with layout pad."""
