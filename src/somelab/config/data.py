"""What is read: source, share of it, and how documents become sequences."""

from __future__ import annotations

from typing import Literal

from somelab.config.base import Count, Group


class DataConfig(Group):
    source: str = "builtin"
    """builtin | builtin:story,recipe (kinds) | tinystories | a .txt, .jsonl or .parquet file, or a folder of them | the name
    of a Hub dataset, owner/name[:column]. X-valid.txt beside X-train.txt is for validation; else 5 % of the documents are."""
    text_column: str = "text"
    """The column that holds the text, in .jsonl and .parquet files and Hub datasets."""
    train_subset_size: Count | None = None
    """Documents used for training, the first ones of the source. None: all (of the built-in corpus 20,000)."""
    val_subset_size: Count | None = None
    """Documents used for validation. None: all that are held out (of the built-in corpus 1,000)."""
    layout: Literal["pack", "pad"] = "pack"
    """pack: documents end to end, each attending to itself only, nothing computed on padding; pad: one document a sequence,
    cut to seq_len, as the seeds."""
    padding_in_loss: bool = False
    """Count padding in the loss (v1-v4 did; it makes perplexity look like 2). Only with layout pad."""
