"""The data: source, share of it, and how documents become sequences."""

from __future__ import annotations

from typing import Literal

from somelab.config.base import Count, Group


class DataConfig(Group):
    source: str = "builtin"
    """builtin | builtin:story,recipe (kinds) | tinystories | a .txt, .jsonl or .parquet file, or a folder of
    them | the name of a Hub dataset, owner/name[:column]. X-valid.txt beside X-train.txt is for validation;
    else 5 % of the documents are."""
    text_column: str = "text"
    """The column that holds the text, in .jsonl and .parquet files and Hub datasets."""
    train_subset_size: Count | None = None
    """Documents used for training, the first ones of the source. None: all (of the built-in corpus
    20,000)."""
    val_subset_size: Count | None = None
    """Documents used for validation. None: all that are held out (of the built-in corpus 1,000)."""
    purpose: Literal["judge", "tune"] = "judge"
    """judge: validate on the validation text. tune: for choosing settings; hold 5 % of the training documents
    back, by hash, validate on those, and never read the validation text."""
    layout: Literal["pack", "pad"] = "pack"
    """pack: documents end to end, each attending to itself only, nothing computed on padding; pad: one
    document a sequence, cut to seq_len, as in the reports."""
    padding_in_loss: bool = False
    """Include padding in the loss, as v1-v4 did; padding is trivial to predict and lowers perplexity. Only
    with layout pad."""
